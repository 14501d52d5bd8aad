// FileDescriptor: an open file of the system, closed when its owner is destroyed. And the Error for
// a refusal of the system. Not thread-safe, except for reading.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"

namespace tidemark {

// "PATH: WHAT: No such file or directory", of `code`, as errno has it.
tl::unexpected<Error> io_error(std::string_view what, const std::string& path, int code = errno,
                               std::string hint = {});

class FileDescriptor {
  public:
    FileDescriptor() = default;

    // Takes ownership of the result of open(2); negative: none.
    explicit FileDescriptor(int number) : number_(number) {}

    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }

    ~FileDescriptor();

    bool valid() const { return number_ >= 0; }

    int get() const { return number_; }

    // Fills `target` from `offset` on, and returns how many bytes were read: fewer only at the
    // file's end. Errors: io, with `path`.
    Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> target,
                                const std::string& path) const;

    // Writes all of `bytes` at `offset`. Returns 0, or the errno of the failure.
    int write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;

  private:
    int number_ = -1;
};

}  // namespace tidemark
