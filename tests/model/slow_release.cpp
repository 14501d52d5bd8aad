// Giving memory back: chapter 6, and the end of private pools (10).
#include <cmath>

#include "core/base/check.h"
#include "tests/model/slow_torch.h"

namespace tidemark::model {

// Chapter 6.1.

void SlowTorch::collect_garbage() {
    const Bytes limit = *settings_.limit_on(driver_.capacity());
    const auto threshold =
        static_cast<Bytes>(std::floor(settings_.gc_threshold * static_cast<double>(limit)));
    if (usage_.reserved <= threshold)
        return;
    const Bytes target = usage_.reserved - threshold;
    Pool& pool = pools(PoolId::default_pool).large;
    double total_age = 0;
    std::size_t count = 0;
    for (const auto& [key, block] : pool.free) {
        if (is_split(*block))
            continue;
        total_age += static_cast<double>(pool.get_calls - block->gc_base);
        ++count;
    }
    coverage_.hit(Rule::gc_looked);
    Bytes got = 0;
    unsigned rounds = 0;
    while (got < target && count != 0) {
        const double cut = total_age / static_cast<double>(count);
        if (collect_round(cut, got, total_age, count) == 0)
            break;
        coverage_.hit(++rounds == 1 ? Rule::gc_released : Rule::gc_many_rounds);
    }
}

// How many it released: all that are as old as `cut`, even beyond the target.
std::size_t SlowTorch::collect_round(double cut, Bytes& got, double& total_age,
                                     std::size_t& count) {
    Pool& pool = pools(PoolId::default_pool).large;
    std::vector<Block*> old;
    for (const auto& [key, block] : pool.free) {
        const auto age = static_cast<double>(pool.get_calls - block->gc_base);
        if (is_split(*block) || block->segment->expandable || age < cut)
            continue;
        old.push_back(block);
        got += block->size;
        total_age -= age;
        --count;
    }
    for (Block* const block : old)
        release(block);
    return old.size();
}

// Chapter 6.2.

bool SlowTorch::release_available(const Need& need) {
    if (settings_.max_split == SlowSettings::kUnlimited)
        return false;
    Pool& pool = *need.pool;
    const Bytes key = std::max(need.size, settings_.max_split);
    const auto it = pool.free.lower_bound({need.stream, key, Address::null});
    const bool found = it != pool.free.end() && it->second->segment->stream == need.stream;
    if (found && !it->second->segment->expandable) {
        if (is_split(*it->second))
            return false;
        release(it->second);
        coverage_.hit(Rule::available_one);
        return true;
    }
    return it != pool.free.begin() && release_several(pool, it, need.stream, key);
}

// The largest ones below `it`, until together they make up for `key`.
bool SlowTorch::release_several(Pool& pool, FreeIterator it, StreamId stream, Bytes key) {
    std::vector<Block*> chosen;
    Bytes got = 0;
    while (it != pool.free.begin() && got < key) {
        --it;
        Block* const block = it->second;
        if (block->size < settings_.max_split || block->segment->stream != stream)
            break;
        if (block->segment->expandable || is_split(*block))
            continue;
        chosen.push_back(block);
        got += block->size;
    }
    for (Block* const block : chosen)
        release(block);
    if (!chosen.empty())
        coverage_.hit(got >= key ? Rule::available_many : Rule::available_short);
    return got >= key;
}

// Chapter 6.3.

void SlowTorch::empty_cache() {
    release_cached(true);
}

void SlowTorch::trim_unused() {
    release_cached(false);
}

void SlowTorch::release_cached(bool wait) {
    if (!in_scope()) {  // else only what nobody's scope can be about
        if (wait) {
            insert_deferred();
            synchronize([](const Block&) { return true; });
        }
        release_pool(pools(PoolId::default_pool).large);
        release_pool(pools(PoolId::default_pool).small);
    }
    std::vector<PoolId> closed;
    for (const auto& [id, pair] : pools_) {
        if (pair.closed)
            closed.push_back(id);
    }
    for (const PoolId id : closed)
        release_closed(id);
}

void SlowTorch::trim_pool(PoolId id) {
    const auto found = pools_.find(id);
    if (found == pools_.end() || !found->second.closed)
        return;
    coverage_.hit(Rule::pool_trimmed);
    insert_deferred();
    synchronize([id](const Block& block) { return block.segment->pool->id == id; });
    release_closed(id);
}

void SlowTorch::release_closed(PoolId id) {
    PoolPair& pair = pools(id);
    if (!pair.small.free.empty() || !pair.large.free.empty())
        coverage_.hit(Rule::pool_released);
    release_pool(pair.small);
    release_pool(pair.large);
    if (!holds_memory(id)) {
        coverage_.hit(Rule::pool_died);
        pools_.erase(id);
    }
}

bool SlowTorch::holds_memory(PoolId id) const {
    for (const auto& [address, segment] : segments_) {
        if (segment.pool->id == id)
            return true;
    }
    return false;
}

void SlowTorch::release_pool(Pool& pool) {
    std::vector<Block*> plain;
    std::vector<Block*> expandable;
    for (const auto& [key, block] : pool.free) {
        if (block->segment->expandable)
            expandable.push_back(block);
        else if (!is_split(*block))
            plain.push_back(block);
    }
    for (Block* const block : plain)
        release(block);
    for (Block* const block : expandable) {
        Segment* const segment = block->segment;
        unmap_block(block);
        unreserve_if_empty(segment);
    }
}

void SlowTorch::release(Block* block) {
    TM_CHECK(!is_split(*block) && !block->segment->expandable);
    take(block);
    TM_CHECK(driver_.segment_free(block->begin));
    ++stats_.segments_released;
    usage_.reserved -= block->size;
    segments_.erase(block->begin);
}

}  // namespace tidemark::model
