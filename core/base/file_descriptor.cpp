// Calls that are repeated until everything is done.
#include "core/base/file_descriptor.h"

#include <system_error>

#include <unistd.h>

namespace tidemark {

tl::unexpected<Error> io_error(std::string_view what, const std::string& path, int code,
                               std::string hint) {
    return fail(ErrorCode::io, std::string(what) + ": " + std::generic_category().message(code),
                path, std::move(hint));
}

FileDescriptor::~FileDescriptor() {
    if (number_ >= 0)
        ::close(number_);
}

Result<std::size_t> FileDescriptor::read_at(std::uint64_t offset, std::span<std::byte> target,
                                            const std::string& path) const {
    std::size_t done = 0;
    while (done < target.size()) {
        const ssize_t count = ::pread(number_, target.data() + done, target.size() - done,
                                      static_cast<off_t>(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return io_error("cannot be read", path);
        if (count == 0)
            break;
        done += static_cast<std::size_t>(count);
    }
    return done;
}

int FileDescriptor::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t count =
            ::pwrite(number_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? errno : ENOSPC;
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return 0;
}

}  // namespace tidemark
