// Births and ends of segments as the record goes on, and what they say of pools.
#include "replay/record/segment_pools.h"

#include <algorithm>
#include <iterator>

namespace tidemark {
namespace {

void add_new(std::vector<PoolId>& pools, PoolId pool) {
    if (std::ranges::find(pools, pool) == pools.end())
        pools.push_back(pool);
}

}  // namespace

void SegmentPools::add_seed(const SeedSegment& seed) {
    Held& held = held_[seed.expandable ? seed.reserved : seed.range.begin];
    held.end = std::max(held.end, seed.range.begin + seed.range.size);
    held.mapped += seed.range.size;
    held.pool = seed.pool;
}

std::map<Address, SegmentPools::Held>::const_iterator SegmentPools::holder(Address address) const {
    const auto after = held_.upper_bound(address);
    if (after == held_.begin() || address > std::prev(after)->second.end)
        return held_.end();
    return std::prev(after);
}

const SegmentLife* SegmentPools::born_at(std::size_t step) const {
    const auto found = record_->births.find(step);
    return found == record_->births.end() ? nullptr : &record_->lives[found->second];
}

void SegmentPools::follow(const RecordCursor& cursor) {
    for (const std::size_t step : cursor.segments())
        follow(step, cursor.event(step));
}

void SegmentPools::follow(std::size_t step, const TraceEvent& entry) {
    const Address begin{entry.address};
    const Address end = begin + entry.size;
    if (const SegmentLife* const life = born_at(step)) {
        held_[begin] = {end, entry.size, pool_of(*life), life->known ? nullptr : life};
        return;
    }
    const auto found = holder(begin);
    if (found == held_.end())
        return;
    Held& held = held_[found->first];
    if (entry.kind == EventKind::segment_map) {
        held.end = std::max(held.end, end);
        held.mapped += entry.size;
        return;
    }
    held.mapped -= std::min(held.mapped, entry.size);
    if (held.mapped == 0)
        held_.erase(found);
}

std::vector<std::uint32_t> SegmentPools::open_choices(const RecordCursor& cursor) const {
    std::vector<std::uint32_t> open;
    if (infers_ && !cursor.at_end() && cursor.event().kind == EventKind::allocate)
        open = keys_of_births(cursor);
    std::erase_if(open, [this](std::uint32_t key) { return chosen_.contains(key); });
    return open;
}

std::vector<PoolId> SegmentPools::pools_of_request(const RecordCursor& cursor) const {
    if (cursor.event().kind == EventKind::allocate)
        return {pool_of_request(cursor)};
    return pools_of_refusal(cursor);
}

PoolId SegmentPools::pool_of_request(const RecordCursor& cursor) const {
    const TraceEvent& request = cursor.event();
    if (!infers_)
        return PoolId{request.aux};
    for (const std::size_t step : cursor.segments()) {
        if (const SegmentLife* const life = born_at(step))
            return pool_of(*life);
    }
    const auto found = holder(Address{request.address});
    return found != held_.end() ? found->second.pool : PoolId{request.aux};
}

// Between two requests for one private pool a refusal is likely to be for that.
std::vector<PoolId> SegmentPools::pools_of_refusal(const RecordCursor& cursor) const {
    std::vector<PoolId> pools{PoolId{cursor.event().aux}};
    if (!infers_)
        return pools;
    if (last_ != PoolId::default_pool && next_pool(cursor) == last_)
        pools.insert(pools.begin(), last_);
    for (const auto& [begin, held] : held_)
        add_new(pools, held.pool);
    pools.push_back(kForeignScope);
    return pools;
}

// Of the next request that succeeded.
PoolId SegmentPools::next_pool(const RecordCursor& cursor) const {
    for (std::size_t step = cursor.position() + 1; step < record_->steps.size(); ++step) {
        if (cursor.event(step).kind != EventKind::allocate)
            continue;
        const std::size_t life = record_->life_of_request[step];
        return life == DeviceRecord::kNoLife ? PoolId{cursor.event(step).aux}
                                             : pool_of(record_->lives[life]);
    }
    return PoolId::default_pool;
}

PoolId SegmentPools::pool_of_release(const TraceEvent& release) const {
    const auto found = holder(Address{release.address});
    return found != held_.end() ? found->second.pool : PoolId::default_pool;
}

std::vector<PoolId> SegmentPools::ended(const RecordCursor& cursor) const {
    std::vector<PoolId> pools;
    if (!infers_)
        return pools;
    for (const std::size_t step : cursor.segments()) {
        const TraceEvent& entry = cursor.event(step);
        const PoolId pool = is_release(entry.kind) ? pool_of_release(entry) : PoolId::default_pool;
        if (pool != PoolId::default_pool)
            add_new(pools, pool);
    }
    return pools;
}

std::vector<std::uint32_t> SegmentPools::keys_of(const SegmentLife& life) const {
    return {group_key(life), life_key(*record_, life)};
}

std::vector<std::uint32_t> SegmentPools::keys_at(Address address) const {
    const auto found = holder(address);
    const bool open = found != held_.end() && found->second.life != nullptr;
    return open ? keys_of(*found->second.life) : std::vector<std::uint32_t>{};
}

std::vector<std::uint32_t> SegmentPools::keys_of_births(const RecordCursor& cursor) const {
    std::vector<std::uint32_t> keys;
    for (const std::size_t step : cursor.segments()) {
        const SegmentLife* const life = born_at(step);
        if (life == nullptr || life->known)
            continue;
        for (const std::uint32_t key : keys_of(*life))
            keys.push_back(key);
    }
    return keys;
}

Address SegmentPools::begin_below(Address address) const {
    const auto after = held_.upper_bound(address);
    return after == held_.begin() ? address : std::prev(after)->first;
}

}  // namespace tidemark
