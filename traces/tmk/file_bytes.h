// FileBytes: all bytes of a file, mapped, or bytes in memory. Mapped pages are read when they are
// first touched; a file that another program shortens meanwhile ends this one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tidemark::tmk {

class FileBytes {
  public:
    explicit FileBytes(std::vector<std::byte> bytes) : owned_(std::move(bytes)), bytes_(owned_) {}

    ~FileBytes();
    FileBytes(FileBytes&& other) noexcept;
    FileBytes& operator=(FileBytes&&) = delete;
    FileBytes(const FileBytes&) = delete;
    FileBytes& operator=(const FileBytes&) = delete;

    // Errors: io.
    static Result<FileBytes> map(const std::string& path);

    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    FileBytes() = default;

    std::vector<std::byte> owned_;
    std::span<const std::byte> bytes_;
    bool mapped_ = false;
};

}  // namespace tidemark::tmk
