// Mapping of files.
#include "traces/tmk/file_bytes.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    const auto error = [&path](int code) {
        return fail(ErrorCode::io, "cannot be opened: " + std::generic_category().message(code),
                    path);
    };
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return error(errno);

    struct stat status {};

    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        return fail(ErrorCode::io, "is not a plain file", path);
    }
    FileBytes file;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size != 0) {
        void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        const int code = errno;
        ::close(descriptor);
        if (begin == MAP_FAILED)
            return error(code);
        file.bytes_ = {static_cast<const std::byte*>(begin), size};
        file.mapped_ = true;
        return file;
    }
    ::close(descriptor);
    return file;
}

}  // namespace tidemark::tmk
