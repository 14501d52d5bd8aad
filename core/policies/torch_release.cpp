// torch: how memory is released to the device.
#include <vector>

#include "core/base/check.h"
#include "core/policies/torch_allocator.h"

namespace tidemark::policies {

// garbage_collection_threshold: releases the oldest unsplit blocks of the default large pool until
// enough is released; each pass takes all blocks that are older than the mean age of the rest.
void Torch::collect_garbage() {
    const auto threshold = static_cast<Bytes>(settings_.gc_threshold * static_cast<double>(limit_));
    if (usage_.reserved <= threshold)
        return;
    const Bytes target = usage_.reserved - threshold;
    const TorchPools::Pool& pool = pools_.pool(TorchPools::large);
    std::vector<BlockId> candidates;
    std::uint64_t total_age = 0;
    for (const std::uint32_t list : pools_.releasable(TorchPools::large)) {
        const SizeIndex& index = pools_.list(list).free;
        for (BlockId id = index.first_from(0, blocks_); id != kNoBlock;
             id = index.next(blocks_[id], blocks_)) {
            if (!blocks_[id].whole_segment())
                continue;
            candidates.push_back(id);
            total_age += pool.searches - blocks_[id].stamp;
        }
    }
    Bytes released = 0;
    bool progress = true;
    while (released < target && progress && !candidates.empty()) {
        const double cut = static_cast<double>(total_age) / static_cast<double>(candidates.size());
        progress = false;
        std::vector<BlockId> kept;
        for (const BlockId id : candidates) {
            const std::uint64_t age = pool.searches - blocks_[id].stamp;
            const Bytes size = blocks_[id].size;
            if (static_cast<double>(age) >= cut && blocks_[id].plain_segment() &&
                release_block(id)) {
                progress = true;
                released += size;
                total_age -= age;
            } else {
                kept.push_back(id);
            }
        }
        candidates = std::move(kept);
    }
}

// With max_split_size: releases one oversized block that is large enough, or several that are large
// enough together. True if a new attempt is worthwhile.
bool Torch::release_available(std::uint32_t list, Bytes size) {
    if (settings_.max_split == TorchSettings::kUnlimited)
        return false;
    const Bytes key = std::max(size, settings_.max_split);
    const SizeIndex& index = pools_.list(list).free;
    const BlockId enough = index.first_from(key, blocks_);
    if (enough != kNoBlock && blocks_[enough].reservation == 0)
        return blocks_[enough].plain_segment() && release_block(enough);
    Bytes released = 0;
    BlockId id = index.last_below(key, blocks_);
    while (released < key && id != kNoBlock && blocks_[id].size >= settings_.max_split) {
        const Block block = blocks_[id];
        if (block.plain_segment()) {
            if (!release_block(id))
                break;
            released += block.size;
        }
        id = index.last_below(block.size, blocks_, block.address);
    }
    return released >= key;
}

void Torch::release_cached() {
    if (open_scopes_ == 0) {
        events_.insert_deferred(blocks_, *device_, stats_);
        events_.await([](BlockId) { return true; }, blocks_, *device_, stats_);
        free_done();
    }
    release_unwaited();
}

// While a graph is captured, nothing of the default pools is released.
void Torch::release_unwaited() {
    if (open_scopes_ == 0) {
        release_pool(TorchPools::large);
        release_pool(TorchPools::small);
    }
    for (const PoolId id : pools_.closed())
        release_family(id);
}

void Torch::release_family(PoolId id) {
    const std::uint32_t family = pools_.family(id);
    release_pool(2 * family + TorchPools::small);
    release_pool(2 * family + TorchPools::large);
    pools_.forget_if_over(id);
}

// First the segments, then the pages; both in the order that the free blocks had before.
void Torch::release_pool(std::uint32_t pool) {
    std::vector<BlockId> mapped;
    for (const std::uint32_t list : pools_.take_releasable(pool)) {
        const SizeIndex& index = pools_.list(list).free;
        BlockId id = index.first_from(0, blocks_);
        while (id != kNoBlock) {
            const Block block = blocks_[id];
            if (block.reservation != 0)
                mapped.push_back(id);
            else if (block.whole_segment())
                release_block(id);
            id = index.next(block, blocks_);
        }
    }
    for (const BlockId id : mapped)
        unmap_block(id);
}

// Releases a free block that is a whole segment to the device. False, and nothing changed, if the
// device refuses.
bool Torch::release_block(BlockId id) {
    const Block block = blocks_[id];
    TM_CHECK_DEBUG(block.plain_segment());
    if (!device_->free(block.address)) {
        pools_.note_releasable(block.list);
        return false;
    }
    pools_.list(block.list).free.erase(id, blocks_);
    blocks_.release(id);
    count_reserved(block.list, -block.size);
    ++stats_.segments_released;
    return true;
}

// For released memory, the negative (it wraps).
void Torch::count_reserved(std::uint32_t list, Bytes gained) {
    usage_.reserved += gained;
    usage_.mapped += gained;
    count_private(list, gained);
}

void Torch::count_private(std::uint32_t list, Bytes gained) {
    TorchPools::Family& family = pools_.family_of(list);
    family.reserved += gained;
    if (family.id != PoolId::default_pool)
        stats_.count_private(gained);
}

void Torch::trim(TrimLevel level) {
    if (level == TrimLevel::all)
        release_cached();
    else
        release_unwaited();
    settle_reservations();
}

void Torch::trim_pool(PoolId pool) {
    const auto found = pools_.families().find(pool);
    if (found == pools_.families().end() || !pools_.numbered(found->second).closed)
        return;
    if (open_scopes_ == 0)
        events_.insert_deferred(blocks_, *device_, stats_);
    const TorchPools::Family& family = pools_.numbered(found->second);
    const auto is_in_it = [&](BlockId id) {
        return &pools_.family_of(blocks_[id].list) == &family;
    };
    events_.await(is_in_it, blocks_, *device_, stats_);
    free_done();
    release_family(pool);
}

}  // namespace tidemark::policies
