// The stack of free blocks, and how it grows without delaying those that need no growth.
#include "core/tiers/host/host_blocks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {

HostBlocks::HostBlocks(PinnedSource& source, const HostBlocksSpec& spec)
    : source_(source),
      block_(align_up(spec.block, PinnedSource::kAlignment)),
      blocks_per_pool_(spec.blocks_per_pool),
      capacity_blocks_(spec.capacity / block_) {}

Result<std::unique_ptr<HostBlocks>> HostBlocks::create(PinnedSource& source,
                                                       const HostBlocksSpec& spec) {
    if (spec.block == 0 || spec.blocks_per_pool == 0)
        return fail(ErrorCode::bad_option, "blocks and pools need a size", "host blocks");
    if (spec.block >= kLargestRequest / spec.blocks_per_pool - PinnedSource::kAlignment)
        return fail(ErrorCode::bad_option,
                    fmt::format("{} blocks of {} bytes are too many for a pool",
                                spec.blocks_per_pool, spec.block),
                    "host blocks");
    std::unique_ptr<HostBlocks> pool(new HostBlocks(source, spec));
    const std::lock_guard growing(pool->growth_);
    std::unique_lock hold(pool->mutex_);
    for (std::uint32_t i = 0; i < spec.initial_pools && pool->usage_.free < pool->capacity_blocks_;
         ++i)
        TM_TRY(pool->grow(hold));
    return pool;
}

HostBlocks::~HostBlocks() {
    TM_CHECK(usage_.used == 0);
    for (const Pool& pool : pools_) {
        if (pool.blocks != 0)
            source_.free(pool.range);
    }
}

BlockResult<BlockRun> HostBlocks::allocate(Bytes size) {
    BlockRun run(*this);
    const std::uint64_t count = blocks_for(size);
    if (count <= capacity_blocks_)  // else it fails
        run.blocks_.reserve(count);
    if (count != 0)
        TM_TRY(take(count, run.blocks_));
    return run;
}

Bytes HostBlocks::trim(Bytes keep) {
    const std::lock_guard growing(growth_);
    std::vector<Range> dropped;
    {
        const std::lock_guard hold(mutex_);
        dropped = drop_free_pools(blocks_for(keep));
    }
    Bytes size = 0;
    for (const Range range : dropped) {
        source_.free(range);
        size += range.size;
    }
    return size;
}

HostBlocksUsage HostBlocks::usage() const {
    const std::lock_guard hold(mutex_);
    return usage_;
}

std::optional<Error> HostBlocks::source_error() const {
    const std::lock_guard hold(mutex_);
    return source_error_;
}

// A request that needs growth waits for the one that grows, and checks again: there may be enough
// left. What is pinned is on the stack immediately; another request may be faster and take it, but
// then each round comes closer to the capacity.
BlockResult<void> HostBlocks::take(std::uint64_t count, std::vector<HostBlock>& taken) {
    std::unique_lock hold(mutex_);
    if (!fits(count))
        return refuse(BlockRefusal::capacity);
    if (pop(count, taken))
        return {};
    hold.unlock();
    const std::lock_guard growing(growth_);
    hold.lock();
    while (!pop(count, taken)) {
        if (!fits(count))
            return refuse(BlockRefusal::capacity);
        if (Result<void> grown = grow(hold); !grown) {
            source_error_ = std::move(grown).error();
            if (pop(count, taken))  // returned meanwhile
                return {};
            return refuse(BlockRefusal::source);
        }
    }
    return {};
}

void HostBlocks::give_back(std::span<const HostBlock> blocks) {
    const std::lock_guard hold(mutex_);
    TM_CHECK(blocks.size() <= usage_.used);
    for (std::size_t i = blocks.size(); i > 0; --i) {
        Pool& pool = pools_[blocks[i - 1].pool];
        TM_CHECK(pool.free < pool.blocks);
        ++pool.free;
        free_.push_back(blocks[i - 1]);
    }
    usage_.used -= blocks.size();
    usage_.free += blocks.size();
}

Result<void> HostBlocks::grow(std::unique_lock<std::mutex>& hold) {
    const auto blocks =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks_per_pool_, room()));
    TM_CHECK(blocks != 0);
    hold.unlock();
    Result<Range> range = source_.allocate(blocks * block_);
    hold.lock();
    if (!range)
        return tl::make_unexpected(std::move(range).error());
    add_pool(*range, blocks);
    return {};
}

bool HostBlocks::pop(std::uint64_t count, std::vector<HostBlock>& taken) {
    if (count > usage_.free)
        return false;
    for (std::uint64_t i = 0; i < count; ++i) {
        taken.push_back(free_.back());
        free_.pop_back();
        --pools_[taken.back().pool].free;
    }
    usage_.free -= count;
    usage_.used += count;
    usage_.peak = std::max(usage_.peak, usage_.used);
    return true;
}

tl::unexpected<BlockRefusal> HostBlocks::refuse(BlockRefusal why) {
    ++usage_.refused;
    return tl::make_unexpected(why);
}

// Its blocks come out in the order of their addresses.
void HostBlocks::add_pool(Range range, std::uint32_t blocks) {
    const auto unused = std::find_if(pools_.begin(), pools_.end(),
                                     [](const Pool& pool) { return pool.blocks == 0; });
    const auto number = static_cast<std::uint32_t>(unused - pools_.begin());
    if (unused == pools_.end())
        pools_.emplace_back();
    pools_[number] = {range, blocks, blocks};
    ++usage_.pools;
    ++usage_.grown;
    usage_.free += blocks;
    free_.reserve(pinned());  // returning takes no memory
    for (std::uint32_t i = blocks; i > 0; --i)
        free_.push_back({range.begin + (i - 1) * block_, number});
}

// The youngest first.
std::vector<Range> HostBlocks::drop_free_pools(std::uint64_t keep_blocks) {
    std::vector<Range> dropped;
    std::vector<bool> gone(pools_.size());
    for (std::size_t i = pools_.size(); i > 0; --i) {
        Pool& pool = pools_[i - 1];
        const bool free = pool.blocks != 0 && pool.free == pool.blocks;
        if (!free || pinned() - pool.blocks < keep_blocks)
            continue;
        dropped.push_back(pool.range);
        gone[i - 1] = true;
        usage_.free -= pool.blocks;
        --usage_.pools;
        pool = {};
    }
    std::erase_if(free_, [&gone](const HostBlock& block) { return gone[block.pool]; });
    return dropped;
}

}  // namespace tidemark
