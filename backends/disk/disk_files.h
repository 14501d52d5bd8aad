// The real disk's BlockFiles: by io_uring if program and kernel have it, else by pread/pwrite.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

enum class DiskEngine : std::uint8_t {
    automatic,  // io_uring if it is available
    io_uring,
    posix,
};

std::string_view to_text(DiskEngine engine);  // "automatic", "io_uring", "posix"

struct DiskFiles {
    std::unique_ptr<BlockFiles> files;
    std::string note;  // why it is not io_uring, if that was preferred; else empty
};

// Tries one of the kernel's rings before it chooses io_uring. Errors: unsupported if io_uring is
// requested and refused, with the kernel's reason.
Result<DiskFiles> open_disk_files(DiskEngine engine = DiskEngine::automatic);

}  // namespace tidemark
