// CommonHoles: the free memory of a DriverPool that is in no stream's list, and the chunks under
// it.
//
// Holes are in one run of addresses and are joined with their neighbours among them, whether chunks
// are mapped under them or not. Of equal holes the one that has been here longest comes first. A
// chunk that is missing under a taken range comes from under another hole if an entire chunk is
// there, the highest first; otherwise it is new memory.
//
// A hole is a block in state free whose list is below kLists. A value; blocks belong to the caller.
// Not thread-safe. O(log holes + chunks / 64) a call, plus chunks that change hands.
#pragma once

#include <cstdint>
#include <optional>

#include "core/regions/chunk_map.h"
#include "core/regions/size_index.h"

namespace tidemark {

class CommonHoles {
  public:
    static constexpr std::uint32_t kLists = 2;

    // For a run of addresses from `begin` on, in chunks of that size.
    CommonHoles(Address begin, Bytes chunk) : begin_(begin), chunk_(chunk) {}

    // A free block, in no list.
    void add(BlockId id, Blocks& blocks);

    // The best fit for `size`, kNoBlock if there is none: among entirely mapped holes, and among
    // all.
    BlockId find_mapped(Bytes size, const Blocks& blocks) const {
        return mapped_.first_from(size, blocks);
    }

    BlockId find(Bytes size, const Blocks& blocks) const;

    // Chunks that had to be mapped, in bytes.
    struct Backing {
        Bytes grown = 0;  // new memory
        Bytes moved = 0;
    };

    // Takes the first `size` bytes of a hole, which `id` then is, and maps what is missing, unless
    // that takes more than `room` bytes of new memory: then nothing has changed.
    std::optional<Backing> take(BlockId id, Bytes size, Bytes room, Blocks& blocks);

    // Releases whole chunks, the highest first, while more than `keep` is mapped; returns how many
    // bytes.
    Bytes give_back_above(Bytes keep, Blocks& blocks);

    Bytes mapped() const { return chunks_.mapped_count() * chunk_; }

  private:
    static constexpr std::uint32_t kMapped = 0;    // Block::list of entirely mapped holes
    static constexpr std::uint32_t kUnmapped = 1;  // of holes with a missing chunk

    ChunkRange whole_chunks(const Block& block) const;
    ChunkRange touched_chunks(const Block& block) const;
    void enter(BlockId id, Blocks& blocks);
    void leave(BlockId id, Blocks& blocks);
    void unmap_highest(Blocks& blocks);

    AgedSizeIndex& index(std::uint32_t list) { return list == kMapped ? mapped_ : unmapped_; }

    Address begin_;
    Bytes chunk_;
    AgedSizeIndex mapped_;
    AgedSizeIndex unmapped_;
    ChunkMap chunks_;
    std::uint64_t stamps_ = 0;
};

}  // namespace tidemark
