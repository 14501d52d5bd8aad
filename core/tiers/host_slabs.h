// HostSlabs: small pieces of pinned host memory, for what is not worth a block: headers, tables,
// scalars on their way to a device.
//
// Model: five classes, 512 to 8192 bytes, a request rounded up to its class. Each class is a stack:
// the slab given back last is the next handed out. An empty one takes one block of a HostBlocks and
// cuts it up, outside the lock. Larger requests go straight to the source of the blocks, within
// their capacity. `trim` gives back blocks of which no slab is in use.
//
// Thread-safe, all functions. O(1) besides a new block and larger requests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/tiers/host_blocks.h"

namespace tidemark {

// A piece that is handed out, to be given back as it is.
struct HostSlab {
    Address begin = Address::null;  // null: of no bytes
    Bytes size = 0;                 // usable: the size of its class, or what was asked for
    std::uint32_t block = 0;        // its owner's; nobody else reads it

    friend bool operator==(const HostSlab&, const HostSlab&) = default;
};

// All of one moment.
struct HostSlabsUsage {
    std::uint64_t used = 0;    // slabs in use, larger pieces included
    std::uint64_t blocks = 0;  // taken from the HostBlocks
    Bytes used_bytes = 0;
    Bytes large_bytes = 0;  // of these, in pieces larger than the largest class
};

class HostSlabs {
  public:
    static constexpr Bytes kSmallest = 512;
    static constexpr Bytes kLargest = 8192;
    static constexpr std::size_t kClasses = 5;

    // `blocks` outlives the slabs. Errors (bad_option): its blocks are smaller than the largest
    // class.
    static Result<std::unique_ptr<HostSlabs>> create(HostBlocks& blocks);

    HostSlabs(const HostSlabs&) = delete;
    HostSlabs& operator=(const HostSlabs&) = delete;

    // Everything has been given back (TM_CHECK).
    ~HostSlabs();

    // At least `size` bytes at a multiple of PinnedSource::kAlignment; 0 bytes give the slab of no
    // bytes.
    BlockResult<HostSlab> allocate(Bytes size);

    // Takes back what `allocate` gave, unchanged (checked in debug builds); the slab of no bytes is
    // nothing.
    void free(const HostSlab& slab);

    // Gives back blocks of which no slab is in use. How many. O(slabs).
    std::uint64_t trim();

    HostSlabsUsage usage() const;

  private:
    // A block that is cut up.
    struct Block {
        BlockRun run;  // empty: given back, its number is free
        std::uint8_t slab_class = 0;
        std::uint32_t used = 0;  // slabs
    };

    explicit HostSlabs(HostBlocks& blocks) : source_(blocks) {}

    static std::size_t class_of(Bytes size);

    bool pop(std::size_t slab_class, HostSlab& slab);
    void cut(BlockRun run, std::size_t slab_class);
    BlockResult<HostSlab> allocate_large(Bytes size);

    HostBlocks& source_;
    std::mutex growth_;  // held by the one that takes a block; taken before mutex_
    mutable std::mutex mutex_;
    std::array<std::vector<HostSlab>, kClasses> free_;  // the last is the next
    std::vector<Block> blocks_;
    HostSlabsUsage usage_;
};

}  // namespace tidemark
