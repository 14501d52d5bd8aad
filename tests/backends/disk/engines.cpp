// Real files for tests.
#include "tests/backends/disk/engines.h"

#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>

#include "backends/disk/disk_files.h"
#include "backends/disk/posix_files.h"

namespace tidemark {

namespace fs = std::filesystem;

std::vector<std::string_view> all_engines() {
    return {"posix", "buffered", "io_uring"};
}

std::unique_ptr<BlockFiles> open_engine(std::string_view name) {
    if (name == "buffered")
        return std::make_unique<PosixFiles>(PageCache::use);
    auto files = open_disk_files(name == "posix" ? DiskEngine::posix : DiskEngine::io_uring);
    if (files)
        return std::move(files->files);
    WARN("skipped: " << to_text(files.error()));
    return nullptr;
}

DiskFolder::DiskFolder() {
    const char* temporary = std::getenv("TMPDIR");
    const fs::path base = temporary != nullptr ? fs::path(temporary) : fs::current_path();
    std::string name = base / "tidemark-disk-XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
        FAIL("no folder in " << base);
    path_ = name;
}

DiskFolder::~DiskFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string DiskFolder::make(const std::string& name) const {
    fs::create_directory(path_ + "/" + name);
    return path_ + "/" + name;
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
        ++count;
    return count;
}

PageMemory::PageMemory(Bytes size)
    : data_(static_cast<std::byte*>(std::aligned_alloc(kFileBlock, align_up(size, kFileBlock)))),
      size_(size) {}

void PageMemory::Free::operator()(std::byte* data) const {
    std::free(data);
}

}  // namespace tidemark
