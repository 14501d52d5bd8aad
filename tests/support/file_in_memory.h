// FileInMemory: bytes under a path, on no disk, for what opens files by their names.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/check.h"

namespace tidemark::support {

class FileInMemory {
  public:
    explicit FileInMemory(std::span<const std::byte> bytes) : file_(::memfd_create("input", 0)) {
        TM_CHECK(file_ >= 0);
        TM_CHECK(::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    }

    FileInMemory(const FileInMemory&) = delete;
    FileInMemory& operator=(const FileInMemory&) = delete;

    ~FileInMemory() { ::close(file_); }

    std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

  private:
    int file_;
};

}  // namespace tidemark::support
