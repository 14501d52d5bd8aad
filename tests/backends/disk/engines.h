// The ways to real files that tests try, and what they see of the process.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tiers/disk/block_files.h"

namespace tidemark {

// "posix", "buffered" (posix by way of the page cache), "io_uring".
std::vector<std::string_view> all_engines();

// Null, with a warning, where the kernel refuses it.
std::unique_ptr<BlockFiles> open_engine(std::string_view name);

// A folder for a test's files on a real disk, removed at the end with all that is in it. It is
// below TMPDIR, or where the tests run: /tmp may be memory.
class DiskFolder {
  public:
    DiskFolder();
    ~DiskFolder();

    DiskFolder(const DiskFolder&) = delete;
    DiskFolder& operator=(const DiskFolder&) = delete;

    const std::string& path() const { return path_; }

    // A new folder in it.
    std::string make(const std::string& name) const;

  private:
    std::string path_;
};

// Descriptors that this process has open.
std::size_t open_descriptors();

// Memory at a multiple of 4096.
class PageMemory {
  public:
    explicit PageMemory(Bytes size);

    std::byte* data() const { return data_.get(); }

    std::span<std::byte> span() const { return {data_.get(), size_}; }

    MemoryPiece piece(Bytes offset, Bytes size) const { return {data_.get() + offset, size}; }

  private:
    struct Free {
        void operator()(std::byte* data) const;
    };

    std::unique_ptr<std::byte, Free> data_;
    Bytes size_;
};

}  // namespace tidemark
