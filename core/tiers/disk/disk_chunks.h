// ChunkIo: moves the chunks of a buffer between memory and its files, several at a time, with their
// checksums. One belongs to each worker of a DiskStore, with the memory that transfers go through
// when the caller's does not fit.
//
// A transfer is made straight from or to the caller's memory when that is aligned, whole chunks at
// a time; else, and for the end of a buffer, through an aligned copy. Checksums are taken while
// other chunks are in flight. When a function returns nothing is in flight. Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.h"
#include "core/tiers/disk/block_files.h"
#include "core/tiers/disk/disk_format.h"
#include "core/tiers/disk/disk_transfer.h"

namespace tidemark {

// Why and where a transfer failed. No text: the caller knows the path.
struct ChunkFault {
    enum class Kind : std::uint8_t { system, end_of_file, checksum, no_memory };
    Kind kind = Kind::system;
    int error = 0;  // errno value, of Kind::system
    std::uint32_t stripe = 0;
    Bytes offset = 0;  // in the file
};

using ChunkResult = std::optional<ChunkFault>;  // nothing: it went well

// Memory at a multiple of kFileBlock.
class AlignedMemory {
  public:
    // Makes it at least `size` bytes; content is lost. False if there is no memory: as it was.
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

    // Replaces `target` by the next `size` bytes, of which there must be as many.
    void take(Bytes size, std::vector<MemoryPiece>& target);

  private:
    std::span<const MemoryPiece> pieces_;
    Bytes offset_ = 0;  // into the first
};

// A buffer's open files.
struct OpenStripes {
    StripeLayout layout;
    std::vector<OpenFile> files;  // one a stripe
};

class ChunkIo {
  public:
    // `depth` transfers in flight for each file of a buffer, which are at most `files_most`.
    ChunkIo(BlockFiles& files, unsigned depth, unsigned files_most);
    ~ChunkIo();

    // Writes the chunks [first, first + checksums.size()) of a buffer out of `source`, which is as
    // long as they are, and fills in their checksums.
    ChunkResult write(const OpenStripes& target, std::uint64_t first,
                      std::span<const MemoryPiece> source, std::span<std::uint64_t> checksums);

    // Reads `size` bytes from `offset` on into `target`, checking each chunk that it touches.
    // `checksums` are those of the whole buffer, in order of chunks.
    ChunkResult read(const OpenStripes& source, std::span<const std::uint64_t> checksums,
                     Bytes offset, std::span<const MemoryPiece> target);

    // Reads every chunk and compares its checksum.
    ChunkResult verify(const OpenStripes& source, std::span<const std::uint64_t> checksums);

    // The front of a file, out of and into aligned memory; `size` is a multiple of kFileBlock.
    ChunkResult write_head(const OpenFile& file, const AlignedMemory& head, Bytes size);
    ChunkResult read_head(const OpenFile& file, AlignedMemory& head, Bytes size);

  private:
    struct Slot;
    struct Task;

    ChunkResult run(Task& task);
    ChunkResult start(Task& task, unsigned index);
    ChunkResult finish(const Task& task, const WholeTransfers::End& end);
    ChunkResult move_head(const OpenFile& file, BlockTransfer::Kind kind, MemoryPiece piece);

    unsigned depth_;
    WholeTransfers transfers_;
    std::vector<Slot> slots_;
};

}  // namespace tidemark
