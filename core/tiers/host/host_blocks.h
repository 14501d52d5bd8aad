// HostBlocks: pinned host memory in blocks of one size, for copies and for spilled buffers.
//
// Model: pools of `blocks_per_pool` blocks; each pool is one piece of a PinnedSource, cut into
// blocks. Free blocks are on one stack: the one returned last is the next handed out. A request
// that finds too few grows by pools until there are enough or the capacity is reached (the capacity
// may make the last pool smaller). Pinning happens outside the lock: others allocate and release
// meanwhile. Requests that need growth too wait for the one that grows and check again, so nobody
// pins what another has just pinned. A request that exceeds the capacity pins nothing.
//
// A failed request has taken nothing: blocks are only taken when all of them are available. Pools
// that were pinned for it stay for others; `trim` returns pools that are entirely free.
//
// Thread-safe, all functions. Allocating n blocks is O(n) besides pinning. The runs must end before
// the pool does (TM_CHECK).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/tiers/host/block_run.h"
#include "core/tiers/host/pinned_source.h"

namespace tidemark {

struct HostBlocksSpec {
    Bytes block = 1_MiB;  // rounded up to PinnedSource::kAlignment
    std::uint32_t blocks_per_pool = 128;
    std::uint32_t initial_pools = 4;  // as far as the capacity allows
    Bytes capacity = 0;               // of pinned memory; a partial block is not used
};

// All of the same moment.
struct HostBlocksUsage {
    std::uint64_t used = 0;     // blocks in runs
    std::uint64_t free = 0;     // blocks pinned and in no run
    std::uint64_t pools = 0;    // pieces of the source; used + free blocks
    std::uint64_t grown = 0;    // pools that were ever pinned
    std::uint64_t peak = 0;     // the most blocks in runs
    std::uint64_t refused = 0;  // failed requests
};

class HostBlocks {
  public:
    // Pins the initial pools. `source` must outlive the pool. Errors: bad_option: no block size or
    // no pool size, or a block that is too large; those of `source`, which then has everything
    // back.
    static Result<std::unique_ptr<HostBlocks>> create(PinnedSource& source,
                                                      const HostBlocksSpec& spec);

    HostBlocks(const HostBlocks&) = delete;
    HostBlocks& operator=(const HostBlocks&) = delete;

    // All runs must have ended.
    ~HostBlocks();

    Bytes block_size() const { return block_; }

    // The maximum number of blocks.
    std::uint64_t capacity_blocks() const { return capacity_blocks_; }

    // How many blocks `size` bytes need. O(1).
    std::uint64_t blocks_for(Bytes size) const { return size / block_ + (size % block_ != 0); }

    // ceil(size / block) blocks; 0 bytes give an empty run. Waits for pinning only if there are too
    // few free blocks.
    BlockResult<BlockRun> allocate(Bytes size);

    // Returns pools that are entirely free to the source, as long as `keep` bytes stay pinned.
    // Returns the bytes. O(blocks); other threads continue while the source takes them.
    Bytes trim(Bytes keep = 0);

    HostBlocksUsage usage() const;

    // The source's error when it last refused; nothing if it never did.
    std::optional<Error> source_error() const;

  private:
    friend class BlockRun;

    struct Pool {
        Range range;  // of size 0: returned, and its number is free
        std::uint32_t blocks = 0;
        std::uint32_t free = 0;
    };

    HostBlocks(PinnedSource& source, const HostBlocksSpec& spec);

    // For runs: all blocks or none, appended to those in `taken`.
    BlockResult<void> take(std::uint64_t count, std::vector<HostBlock>& taken);
    void give_back(std::span<const HostBlock> blocks);

    // Under growth_: pins one more pool. Under mutex_, which it unlocks meanwhile.
    Result<void> grow(std::unique_lock<std::mutex>& hold);

    // Under mutex_.
    bool pop(std::uint64_t count, std::vector<HostBlock>& taken);

    bool fits(std::uint64_t count) const { return count <= capacity_blocks_ - usage_.used; }

    std::uint64_t pinned() const { return usage_.used + usage_.free; }

    std::uint64_t room() const { return capacity_blocks_ - pinned(); }

    tl::unexpected<BlockRefusal> refuse(BlockRefusal why);
    void add_pool(Range range, std::uint32_t blocks);
    std::vector<Range> drop_free_pools(std::uint64_t keep_blocks);

    PinnedSource& source_;
    const Bytes block_;
    const std::uint32_t blocks_per_pool_;
    const std::uint64_t capacity_blocks_;

    std::mutex growth_;  // held by the thread that calls the source; taken before mutex_
    mutable std::mutex mutex_;
    std::vector<HostBlock> free_;  // the last is the next
    std::vector<Pool> pools_;
    HostBlocksUsage usage_;
    std::optional<Error> source_error_;
};

}  // namespace tidemark
