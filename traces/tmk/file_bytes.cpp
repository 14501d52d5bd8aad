// Mapping of files.
#include "traces/tmk/file_bytes.h"

#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "traces/io/file_descriptor.h"

namespace tidemark::tmk {

FileBytes::FileBytes(FileBytes&& other) noexcept
    : owned_(std::move(other.owned_)),
      bytes_(std::exchange(other.bytes_, {})),
      mapped_(std::exchange(other.mapped_, false)) {}

FileBytes::~FileBytes() {
    if (mapped_)
        ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<FileBytes> FileBytes::map(const std::string& path) {
    const FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!descriptor.valid())
        return io_error("cannot be opened", path);

    struct stat status {};

    if (::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode))
        return fail(ErrorCode::io, "is not a plain file", path);
    FileBytes file;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0)
        return file;
    void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
    if (begin == MAP_FAILED)
        return io_error("cannot be opened", path);
    file.bytes_ = {static_cast<const std::byte*>(begin), size};
    file.mapped_ = true;
    return file;
}

}  // namespace tidemark::tmk
