// RawInput: where a ByteSource's bytes come from before decompression: an open file or memory. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace tidemark {

class RawInput {
  public:
    RawInput() = default;
    RawInput(const RawInput&) = delete;
    RawInput& operator=(const RawInput&) = delete;
    virtual ~RawInput() = default;

    // Reads up to `target.size()` bytes, at least one unless the input is at its end (0).
    // Errors: io, with the input's name.
    virtual Result<std::size_t> read(std::span<std::byte> target) = 0;

    // Bytes in total; 0 = not known (a pipe).
    virtual std::uint64_t size() const = 0;

    // The plain file behind it, for reading at offsets; none: a pipe, standard input, memory.
    virtual FileDescriptor file() const { return FileDescriptor(); }
};

// `path`, or "-" for standard input. Errors: io (no such file, a folder, no permission).
Result<std::unique_ptr<RawInput>> open_raw_file(const std::string& path);

// `bytes` must outlive the input.
std::unique_ptr<RawInput> raw_memory(std::span<const std::byte> bytes);

}  // namespace tidemark
