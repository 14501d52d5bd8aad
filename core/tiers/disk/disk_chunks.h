// ChunkIo: moves the chunks of a buffer between memory and scratch files, several at a time, with
// their checksums. Each worker of a DiskStore has one, with the memory that transfers go through
// when the caller's is not suitable.
//
// A transfer goes directly from or to the caller's memory if that is aligned, whole chunks at a
// time. Otherwise, and for the end of a buffer, it goes through an aligned copy. Checksums are
// computed while other chunks are in flight. When a function returns, nothing is in flight.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/disk/block_files.h"
#include "core/tiers/disk/disk_transfer.h"
#include "core/tiers/disk/scratch_files.h"

namespace tidemark {

struct DiskChunk {
    ScratchExtent extent;
    Bytes size = 0;              // of its content
    std::uint64_t checksum = 0;  // of its content, once it is written
    bool written = false;
};

// Memory at a multiple of kFileBlock.
class AlignedMemory {
  public:
    // Makes it at least `size` bytes; content is lost. False if there is no memory: it is
    // unchanged.
    bool grow(Bytes size);

    std::byte* data() const { return data_.get(); }

    std::span<std::byte> first(Bytes size) const { return {data_.get(), size}; }

  private:
    struct Free {
        void operator()(std::byte* data) const;
    };

    std::unique_ptr<std::byte, Free> data_;
    Bytes size_ = 0;
};

// Pieces of memory, taken from the front.
class MemoryCursor {
  public:
    explicit MemoryCursor(std::span<const MemoryPiece> pieces) : pieces_(pieces) {}

    // Replaces `target` by the next `size` bytes, which must exist.
    void take(Bytes size, std::vector<MemoryPiece>& target);

  private:
    std::span<const MemoryPiece> pieces_;
    Bytes offset_ = 0;  // into the first
};

class ChunkIo {
  public:
    // `depth` transfers in flight for each directory.
    ChunkIo(BlockFiles& files, ScratchFiles& scratch, unsigned depth);
    ~ChunkIo();

    // Writes chunks from `source`, which is as long as they are, and fills in their checksums.
    // Errors: io, no_space; bad_option if there is no memory for copies.
    Result<void> write(std::span<DiskChunk> chunks, std::span<const MemoryPiece> source);

    // Reads into `target`, starting `skip` bytes behind the start of the first chunk; the last
    // chunk is where the target ends. Each chunk is checked as a whole. Errors: io; bad_input if
    // the content is not what was written.
    Result<void> read(std::span<DiskChunk> chunks, Bytes skip, std::span<const MemoryPiece> target);

  private:
    struct Slot;
    struct Task;

    Result<void> run(Task& task);
    Result<void> start(Task& task, unsigned index);
    Result<void> finish(const Task& task, const WholeTransfers::End& end);
    std::string where(const DiskChunk& chunk) const;

    ScratchFiles& scratch_;
    WholeTransfers transfers_;
    std::vector<Slot> slots_;
};

}  // namespace tidemark
