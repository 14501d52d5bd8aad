// FileBytes: the bytes of an open file, read when they are needed, or bytes in memory. A file is
// not mapped: if another program shortened it meanwhile, that would end this one. A missing part is
// an Error, and the checksums of what is read reveal changes.
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

    // `name` is for messages. Errors: io, also for anything that is not a plain file.
    static Result<FileBytes> of(FileDescriptor file, std::string name);

    // As the file was when it was opened.
    std::uint64_t size() const { return size_; }

    // The bytes from `offset` on, at most `size` of them; fewer only where size() ends. Valid until
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
