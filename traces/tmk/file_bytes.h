// FileBytes: the bytes of an open file, read where they are asked for, or bytes in memory. A file
// is not mapped: one that another program shortens meanwhile would end this one. What it has no
// longer is an Error, and what was changed in it is found by the checksums of what is read.
//
// Thread-safe: readers bring their own buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "traces/tmk/wire.h"

namespace tidemark::tmk {

// Memory for pieces of a file, one after the other; grows to the largest.
class PieceBuffer {
  public:
    std::span<std::byte> room_for(std::size_t size);

  private:
    std::unique_ptr<std::byte[]> bytes_;  // not a vector: filling it with zeros takes time
    std::size_t size_ = 0;
};

class FileBytes {
  public:
    explicit FileBytes(std::vector<std::byte> bytes)
        : owned_(std::move(bytes)), size_(owned_.size()) {}

    // `name` is for messages. Errors: io, also for what is no plain file.
    static Result<FileBytes> of(FileDescriptor file, std::string name);

    // As the file was when it was opened.
    std::uint64_t size() const { return size_; }

    // The bytes from `offset` on, at most `size` of them, fewer only where size() ends. Valid until
    // the buffer is used again. Errors: io; bad_input: the file ends before.
    Result<std::span<const std::byte>> piece(std::uint64_t offset, std::size_t size,
                                             PieceBuffer& buffer) const;

    // The block at `offset`, which ends before `end`: see find_block. Errors: those of piece().
    Result<FoundBlock> block(std::uint64_t offset, std::uint64_t end, PieceBuffer& buffer) const;

  private:
    FileBytes() = default;

    std::vector<std::byte> owned_;
    FileDescriptor file_;  // none: all is in owned_
    std::string name_;
    std::uint64_t size_ = 0;
};

}  // namespace tidemark::tmk
