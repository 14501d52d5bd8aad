// Requests, frees, splitting and merging (chapters 2 to 5), streams (7) and pools (10).
#include "tests/model/slow_torch.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark::model {

// Chapter 2: blocks and sets.

SlowTorch::Block* SlowTorch::prev_of(const Block& block) {
    const auto it = block.segment->blocks.find(block.begin);
    return it == block.segment->blocks.begin() ? nullptr : &std::prev(it)->second;
}

SlowTorch::Block* SlowTorch::next_of(const Block& block) {
    const auto it = std::next(block.segment->blocks.find(block.begin));
    return it == block.segment->blocks.end() ? nullptr : &it->second;
}

bool SlowTorch::is_split(const Block& block) {
    return block.segment->blocks.size() > 1;
}

SlowTorch::Block* SlowTorch::add_block(Segment* segment, Range range, bool mapped) {
    const auto [it, added] = segment->blocks.try_emplace(
        range.begin,
        Block{.segment = segment, .begin = range.begin, .size = range.size, .mapped = mapped});
    TM_CHECK(added);
    return &it->second;
}

void SlowTorch::put(Block* block) {
    Pool& pool = *block->segment->pool;
    const StreamId stream = block->segment->stream;
    bool added = false;
    if (block->mapped) {
        block->gc_base = pool.get_calls;
        added = pool.free.try_emplace({stream, block->size, block->begin}, block).second;
    } else {
        added = pool.unmapped.try_emplace({stream, block->begin}, block).second;
    }
    TM_CHECK(added);
}

void SlowTorch::take(Block* block) {
    Pool& pool = *block->segment->pool;
    const StreamId stream = block->segment->stream;
    const std::size_t erased = block->mapped ? pool.free.erase({stream, block->size, block->begin})
                                             : pool.unmapped.erase({stream, block->begin});
    TM_CHECK(erased == 1);
}

// Chapter 3: malloc.

SlowTorch::Grant SlowTorch::allocate(Bytes size, StreamId stream, PoolId id) {
    if (size >= kLargestRequest) {
        ++stats_.out_of_memory;
        return {.refusal = OutOfMemory::Cause::too_large};
    }
    const bool is_private = id != PoolId::default_pool;
    if (is_private)
        coverage_.hit(scopes_.contains(id) ? Rule::private_pool_request : Rule::own_scope_request);
    const bool inside = in_scope() || is_private;
    if (!inside)
        process_events();
    const Bytes rounded = settings_.round_size(std::max<Bytes>(size, 1));
    PoolPair& pair = pools(id);
    Need need{.pool = rounded <= kSmallMax ? &pair.small : &pair.large,
              .stream = stream,
              .size = rounded,
              .segment = settings_.segment_size(rounded)};
    Block* const block = obtain(need, inside);
    if (block == nullptr) {
        ++stats_.out_of_memory;
        coverage_.hit(inside ? Rule::refused_in_scope : Rule::refused);
        return {.refusal = cause_};
    }
    if (should_split(need, *block))
        split(*block, need.size);
    block->allocated = true;
    usage_.allocated += block->size;
    usage_.active += block->size;
    granted_[block->begin] = block;
    return {.block = block->range()};
}

// A block out of all sets, of any size from need.size on; or none. `need.pool` is then its pool.
SlowTorch::Block* SlowTorch::obtain(Need& need, bool inside) {
    Block* block = find_free(need);
    if (block != nullptr)
        return block;
    if (collects())
        collect_garbage();
    block = new_block(need);
    if (block == nullptr && release_available(need))
        block = new_block(need);
    if (block == nullptr && !inside) {
        coverage_.hit(Rule::retry);
        ++stats_.retries;
        release_cached(true);
        block = new_block(need);
        if (block != nullptr)
            coverage_.hit(Rule::retry_helped);
    }
    if (block == nullptr && need.pool->id == PoolId::default_pool)
        block = from_serving_pools(need);
    return block;
}

bool SlowTorch::collects() const {
    return settings_.gc_threshold > 0 && settings_.limit_on(driver_.capacity()).has_value();
}

SlowTorch::Block* SlowTorch::find_free(const Need& need) {
    Pool& pool = *need.pool;
    if (collects())
        ++pool.get_calls;
    auto it = pool.free.lower_bound({need.stream, need.size, Address::null});
    if (it == pool.free.end() || it->second->segment->stream != need.stream)
        return nullptr;
    if (it->second->segment->expandable) {
        it = settings_.expandable ? best_expandable(pool, it, need.stream)
                                  : first_plain(pool, it, need.stream);
        if (it == pool.free.end())
            return nullptr;
    }
    Block* const block = it->second;
    if (!fits(need, *block))
        return nullptr;
    coverage_.hit(Rule::free_block_taken);
    if (settings_.expandable && !block->segment->expandable)
        coverage_.hit(Rule::plain_taken_in_expandable);
    pool.free.erase(it);
    return block;
}

// The size that a block could grow to counts, among neighbours in the set.
SlowTorch::FreeIterator SlowTorch::best_expandable(Pool& pool, FreeIterator it, StreamId stream) {
    const auto grown = [](const Block& block) {
        const Block* const next = next_of(block);
        return block.size + (next != nullptr && !next->mapped ? next->size : 0);
    };
    for (auto next = std::next(it);
         it->second->segment->expandable && next != pool.free.end() &&
         next->second->segment->stream == stream && grown(*next->second) < grown(*it->second);
         ++next) {
        it = next;
        coverage_.hit(Rule::grown_hole_preferred);
    }
    return it;
}

SlowTorch::FreeIterator SlowTorch::first_plain(Pool& pool, FreeIterator it, StreamId stream) {
    while (it != pool.free.end() && it->second->segment->expandable &&
           it->second->segment->stream == stream)
        ++it;
    coverage_.hit(Rule::expandable_skipped);
    const bool found = it != pool.free.end() && it->second->segment->stream == stream;
    return found ? it : pool.free.end();
}

bool SlowTorch::fits(const Need& need, const Block& block) {
    if (need.size < settings_.max_split && block.size >= settings_.max_split) {
        coverage_.hit(Rule::rejected_as_oversize);
        return false;
    }
    if (need.size >= settings_.max_split &&
        block.size >= need.size + settings_.max_non_split_rounding) {
        coverage_.hit(Rule::rejected_as_too_loose);
        return false;
    }
    return true;
}

SlowTorch::Block* SlowTorch::new_block(const Need& need) {
    const std::optional<Bytes> limit = settings_.limit_on(driver_.capacity());
    if (limit && usage_.reserved + need.segment > *limit) {
        cause_ = OutOfMemory::Cause::limit;
        coverage_.hit(Rule::limit_refused);
        return nullptr;
    }
    cause_ = OutOfMemory::Cause::device_full;
    if (settings_.expandable)
        return expandable_alloc(need);
    const std::optional<Address> address = driver_.segment_alloc(need.segment);
    if (!address) {
        coverage_.hit(Rule::driver_refused);
        return nullptr;
    }
    ++stats_.segments_created;
    usage_.reserved += need.segment;
    const Range range{*address, need.segment};
    Segment& segment = segments_[*address];
    segment = {.range = range, .pool = need.pool, .stream = need.stream};
    return add_block(&segment, range, true);
}

// Chapter 10.4: use_on_oom, after the last retry.
SlowTorch::Block* SlowTorch::from_serving_pools(Need& need) {
    for (auto& [id, pair] : pools_) {
        if (!pair.serves_on_refusal || pair.closed)
            continue;
        Need other = need;
        other.pool = need.pool->small ? &pair.small : &pair.large;
        if (Block* const block = find_free(other)) {
            coverage_.hit(Rule::served_by_other_pool);
            need = other;
            return block;
        }
    }
    return nullptr;
}

// Chapter 4: split and merge.

bool SlowTorch::should_split(const Need& need, const Block& block) {
    const Bytes rest = block.size - need.size;
    if (!need.pool->splits) {
        if (rest >= kMinBlock)
            coverage_.hit(Rule::no_split_kept);
        return false;
    }
    if (need.pool->small || settings_.expandable)
        return rest >= kMinBlock;
    const bool splits = need.size < settings_.max_split && rest > kSmallMax;
    if (!splits && rest != 0)
        coverage_.hit(Rule::kept_whole);
    return splits;
}

void SlowTorch::split(Block& block, Bytes size) {
    coverage_.hit(Rule::split);
    const Range rest{block.begin + size, block.size - size};
    block.size = size;
    put(add_block(block.segment, rest, true));
}

// `block` is in no set; nor is what comes back.
SlowTorch::Block* SlowTorch::merge(Block* block) {
    const auto joins = [block](const Block* other) {
        return other != nullptr && other->allocatable() && other->mapped == block->mapped;
    };
    std::map<Address, Block>& blocks = block->segment->blocks;
    if (Block* const next = next_of(*block); joins(next)) {
        take(next);
        block->size += next->size;
        blocks.erase(next->begin);
        coverage_.hit(Rule::merged_next);
    }
    Block* const prev = prev_of(*block);
    if (!joins(prev))
        return block;
    take(prev);
    prev->size += block->size;
    blocks.erase(block->begin);
    coverage_.hit(Rule::merged_prev);
    return prev;
}

void SlowTorch::free_block(Block* block) {
    usage_.active -= block->size;
    block->allocated = false;
    block->retired = false;
    block->uses.clear();
    block->uses_in_scope.clear();
    put(merge(block));
}

// Chapter 5: free.

void SlowTorch::deallocate(Address address) {
    const auto found = granted_.find(address);
    TM_CHECK(found != granted_.end());
    Block* const block = found->second;
    granted_.erase(found);
    if (block->retired)  // the caller knows that all work on it is done
        return free_block(block);
    block->allocated = false;
    usage_.allocated -= block->size;
    if (block->uses.empty())
        return free_block(block);
    if (in_scope()) {
        coverage_.hit(Rule::deferred);
        deferred_.push_back(block);
    } else {
        insert_events(block);
    }
}

void SlowTorch::retire(Address address) {
    Block* const block = granted_.at(address);
    block->retired = true;
    usage_.allocated -= block->size;
}

// Chapter 7: streams and events.

void SlowTorch::record_use(Address address, StreamId stream) {
    Block* const block = granted_.at(address);
    if (stream == block->segment->stream)
        return;
    block->uses.insert(stream);
    if (in_scope())
        block->uses_in_scope.insert(stream);
}

void SlowTorch::insert_events(Block* block) {
    coverage_.hit(Rule::events_recorded);
    for (const StreamId stream : block->uses) {
        ++block->events;
        queues_[stream].push_back({driver_.now(), block});
    }
    block->uses.clear();
}

void SlowTorch::insert_deferred() {
    for (Block* const block : std::exchange(deferred_, {})) {
        for (const StreamId stream : block->uses_in_scope)
            block->uses.erase(stream);
        coverage_.hit(block->uses.empty() ? Rule::deferred_freed_at_once : Rule::deferred_recorded);
        if (block->uses.empty())
            free_block(block);
        else
            insert_events(block);
    }
}

void SlowTorch::process_events() {
    insert_deferred();
    for (auto& [stream, queue] : queues_) {
        while (!queue.empty() && driver_.done(stream, queue.front().step)) {
            Block* const block = queue.front().block;
            queue.pop_front();
            if (block->events == 1)
                coverage_.hit(Rule::event_freed);
            event_done(block);
        }
    }
}

void SlowTorch::event_done(Block* block) {
    TM_CHECK(block->events != 0);
    if (--block->events == 0)
        free_block(block);
}

// Waits for the events of the blocks that are `wanted`.
void SlowTorch::synchronize(const std::function<bool(const Block&)>& wanted) {
    for (auto& [stream, queue] : queues_) {
        std::deque<Waiting> others;
        for (const Waiting& waiting : std::exchange(queue, {})) {
            if (!wanted(*waiting.block)) {
                others.push_back(waiting);
                continue;
            }
            driver_.synchronize(stream);
            if (waiting.block->events == 1)
                coverage_.hit(Rule::synchronized_free);
            event_done(waiting.block);
        }
        queue = std::move(others);
    }
}

// Chapter 10: pools.

SlowTorch::PoolPair& SlowTorch::pools(PoolId id) {
    const auto [it, added] = pools_.try_emplace(id);
    if (added) {
        it->second.small.id = it->second.large.id = id;
        it->second.small.small = true;
    }
    return it->second;
}

void SlowTorch::begin_pool(PoolId id, PoolTraits traits) {
    PoolPair& pair = pools(id);
    TM_CHECK(!pair.closed && id != PoolId::default_pool);
    pair.serves_on_refusal = traits.serves_on_refusal;
    pair.small.splits = pair.large.splits = traits.splits;
    scopes_.insert(id);
}

void SlowTorch::end_pool(PoolId id) {
    const auto found = scopes_.find(id);
    TM_CHECK(found != scopes_.end());
    scopes_.erase(found);
}

void SlowTorch::close_pool(PoolId id) {
    TM_CHECK(!scopes_.contains(id));
    pools(id).closed = true;
}

void SlowTorch::change_settings(const SlowSettings& settings) {
    coverage_.hit(Rule::settings_changed);
    settings_ = settings;
}

// What the allocator holds.

std::vector<Region> SlowTorch::regions() const {
    std::vector<Region> regions;
    for (const auto& [address, segment] : segments_) {
        for (const auto& [begin, block] : segment.blocks) {
            if (!block.mapped)
                continue;
            auto state = Region::State::waiting;
            if (block.allocatable())
                state = Region::State::free;
            else if (block.allocated)  // `retire` is between the caller and the counters
                state = Region::State::allocated;
            regions.push_back({.range = block.range(),
                               .segment = segment.range,
                               .state = state,
                               .stream = segment.stream,
                               .pool = segment.pool->id});
        }
    }
    return regions;
}

}  // namespace tidemark::model
