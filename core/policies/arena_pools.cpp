// ArenaPools: pools, the arenas behind them, and which blocks are where.
#include "core/policies/arena_pools.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark::policies {

std::uint32_t ArenaPools::pool_of(PoolId id) {
    const auto next = static_cast<std::uint32_t>(pools_.size());
    const auto [found, is_new] = numbers_.try_emplace(id, next);
    if (is_new) {
        const auto vacant = std::find_if(pools_.begin(), pools_.end(), [](const Pool& pool) {
            return pool.id == PoolId::default_pool;
        });
        found->second = static_cast<std::uint32_t>(vacant - pools_.begin());
        if (vacant == pools_.end())
            pools_.emplace_back();
        pools_[found->second] = Pool{};
        pools_[found->second].id = id;
    }
    return found->second;
}

// The arena of a pool, with addresses at least; all pools have the same one if they share it.
tl::expected<std::uint32_t, OutOfMemory> ArenaPools::arena_of(std::uint32_t pool, Device& device) {
    std::uint32_t& arena = pools_[pool].arena;
    if (arena == kNone && settings_.shared && !arenas_.empty())
        arena = 0;
    if (arena == kNone) {
        const auto vacant = std::find_if(arenas_.begin(), arenas_.end(),
                                         [](const Arena& one) { return !one.memory.exists(); });
        arena = static_cast<std::uint32_t>(vacant - arenas_.begin());
        if (vacant == arenas_.end())
            arenas_.emplace_back();
    }
    ArenaMemory& memory = arenas_[arena].memory;
    if (!memory.exists()) {
        const auto made = settings_.arena == 0 ? ArenaMemory::growing(device)
                                               : ArenaMemory::fixed(device, settings_.arena);
        if (!made) {
            arena = kNone;
            return tl::make_unexpected(refused_by(made.error()));
        }
        arenas_[arena].memory = *made;
        arenas_[arena].high_water = made->range().begin;
    }
    return arena;
}

// The pool's addresses start above every live block of its arena.
void ArenaPools::begin_layout(Pool& pool) {
    Address floor = arenas_[pool.arena].memory.range().begin;
    if (!live_.empty())
        floor = live_.rbegin()->first + live_.rbegin()->second;
    pool.layout =
        pool.expected.empty() ? ArenaLayout(floor) : ArenaLayout(floor, pool.plan, pool.expected);
    pool.begun = true;
}

// If shared: is a block in `range` live? (None of the current pool is: see its layout.)
bool ArenaPools::others_live_in(Range range) const {
    const auto next = live_.lower_bound(range.begin + range.size);
    if (next == live_.begin())
        return false;
    const auto& [begin, size] = *std::prev(next);
    return begin + size > range.begin;
}

// Orders `stream` behind all users of memory that was freed in the arena. Not while a graph is
// captured: nothing runs then, and the program orders the graphs' launches.
DeviceResult<void> ArenaPools::order(Arena& arena, StreamId stream, Device& device) {
    std::uint64_t& ordered = arena.ordered[stream];
    if (ordered == arena.gives || arena.users.only(stream) || device.capturing())
        return {};
    TM_TRY(arena.users.order_before(stream, device));
    ordered = arena.gives;
    return {};
}

tl::expected<Allocation, OutOfMemory> ArenaPools::allocate(const Request& request, Device& device) {
    // Reported before an arena of fixed size is reserved for nothing.
    if (settings_.arena != 0 &&
        align_up(request.size, ArenaLayout::kUnit) + request.alignment - 1 > settings_.arena)
        return tl::make_unexpected(OutOfMemory{OutOfMemory::Cause::limit});
    const std::uint32_t number = pool_of(request.pool);
    TM_ASSIGN(const auto at, arena_of(number, device));
    Pool& pool = pools_[number];
    Arena& arena = arenas_[at];
    if (!pool.begun)
        begin_layout(pool);
    ArenaLayout::Placement placement = pool.layout.choose(request);
    if (settings_.shared && others_live_in({placement.address, placement.size})) {
        pool.layout.skip_to(arena.high_water);
        placement = pool.layout.choose_above(request);
    }
    const Address base = arena.memory.range().begin;
    if (const auto done = arena.memory.ensure(device, placement.address - base + placement.size);
        !done) {
        const bool too_short = !arena.memory.grows();
        return tl::make_unexpected(too_short ? OutOfMemory{OutOfMemory::Cause::limit}
                                             : refused_by(done.error()));
    }
    if (settings_.shared && placement.address < arena.high_water) {
        if (const auto done = order(arena, request.stream, device); !done)
            return tl::make_unexpected(refused_by(done.error()));
    }
    pool.layout.take(request, placement);
    arena.high_water = std::max(arena.high_water, placement.address + placement.size);
    if (settings_.shared)
        live_.emplace(placement.address, placement.size);
    pool.closed = false;
    ++pool.live;
    const std::uint32_t node = grants_.add({placement.address, placement.size, number});
    users_.resize(std::max<std::size_t>(users_.size(), node + 1));
    users_[node].assign(1, request.stream);
    return Allocation{placement.address, placement.size, node};
}

void ArenaPools::deallocate(std::uint32_t node) {
    const Grant grant = grants_[node];
    TM_CHECK(grant.size != 0);
    Pool& pool = pools_[grant.owner];
    TM_CHECK(pool.layout.give(grant.begin, users_[node]) == BumpArena::Freed::freed);
    Arena& arena = arenas_[pool.arena];
    ++arena.gives;
    for (const StreamId user : users_[node])
        arena.users.add(user);
    live_.erase(grant.begin);
    --pool.live;
    grants_.remove(node);
}

void ArenaPools::record_use(std::uint32_t node, StreamId stream) {
    std::vector<StreamId>& users = users_[node];
    if (std::find(users.begin(), users.end(), stream) == users.end())
        users.push_back(stream);
}

void ArenaPools::begin_pool(PoolId id) {
    Pool& pool = pools_[pool_of(id)];
    pool.closed = false;
    ++pool.scopes;
}

void ArenaPools::end_pool(PoolId id) {
    Pool& pool = pools_[pool_of(id)];
    if (pool.scopes != 0)
        --pool.scopes;
}

void ArenaPools::close_pool(PoolId id) {
    if (const auto found = numbers_.find(id); found != numbers_.end())
        pools_[found->second].closed = true;
}

void ArenaPools::plan_pool(PoolId id, std::span<const PlannedAllocation> expected) {
    Pool& pool = pools_[pool_of(id)];
    if (!settings_.planned || pool.begun)
        return;
    Result<Plan> plan =
        plan_offsets(expected, {}, {.unit = ArenaLayout::kUnit, .escapes = settings_.escapes});
    if (!plan)
        return;
    pool.plan = std::move(*plan);
    pool.expected.assign(expected.begin(), expected.end());
}

bool ArenaPools::is_over(std::uint32_t arena, bool closed_only) const {
    return std::all_of(pools_.begin(), pools_.end(), [&](const Pool& pool) {
        return pool.arena != arena ||
               (pool.live == 0 && ((pool.closed && pool.scopes == 0) || !closed_only));
    });
}

bool ArenaPools::any_closed() const {
    for (std::uint32_t i = 0; i < arenas_.size(); ++i) {
        if (arenas_[i].memory.exists() && is_over(i, true))
            return true;
    }
    return false;
}

// The pools of an arena that was removed: a new request for one starts from scratch.
void ArenaPools::forget(std::uint32_t arena) {
    for (Pool& pool : pools_) {
        if (pool.arena != arena || pool.id == PoolId::default_pool)
            continue;
        deviations_ += pool.layout.deviations();
        numbers_.erase(pool.id);
        pool = Pool{};
    }
    arenas_[arena] = Arena{};
}

std::size_t ArenaPools::release(Device& device, bool closed_only) {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < arenas_.size(); ++i) {
        if (!arenas_[i].memory.exists() || !is_over(i, closed_only) ||
            !arenas_[i].memory.release(device))
            continue;
        forget(i);
        ++count;
    }
    return count;
}

std::size_t ArenaPools::release_closed(Device& device) {
    return release(device, true);
}

std::size_t ArenaPools::release_unused(Device& device) {
    return release(device, false);
}

Bytes ArenaPools::held() const {
    Bytes sum = 0;
    for (const Arena& arena : arenas_)
        sum += arena.memory.held();
    return sum;
}

Bytes ArenaPools::mapped() const {
    Bytes sum = 0;
    for (const Arena& arena : arenas_)
        sum += arena.memory.range().size;
    return sum;
}

std::uint64_t ArenaPools::deviations() const {
    std::uint64_t sum = deviations_;
    for (const Pool& pool : pools_)
        sum += pool.layout.deviations();
    return sum;
}

void ArenaPools::for_each_region(const std::function<void(const Region&)>& visit) const {
    const std::vector<Grant> grants = grants_.by_address();
    for (std::uint32_t i = 0; i < arenas_.size(); ++i)
        visit_arena(i, grants, visit);
}

// Live memory, memory that was freed (or left out) and is kept from others, and memory that nobody
// has had yet.
void ArenaPools::visit_arena(std::uint32_t arena, std::span<const Grant> grants,
                             const std::function<void(const Region&)>& visit) const {
    const ArenaMemory& memory = arenas_[arena].memory;
    const Range segment = memory.range();
    PoolId pool{0};
    for (const Pool& one : pools_) {
        if (one.arena == arena && one.id != PoolId::default_pool)
            pool = one.id;
    }
    Address position = segment.begin;
    const auto visit_up_to = [&](Address end, Region::State state, PoolId owner) {
        if (position < end)
            visit({{position, end - position}, segment, state, StreamId::default_stream, owner});
        position = std::max(position, end);
    };
    for (const Grant& grant : grants) {
        if (pools_[grant.owner].arena != arena)
            continue;
        visit_up_to(grant.begin, Region::State::hole, pool);
        visit_up_to(grant.begin + grant.size, Region::State::allocated, pools_[grant.owner].id);
    }
    const Address end = segment.begin + segment.size;
    visit_up_to(std::min(arenas_[arena].high_water, end), Region::State::hole, pool);
    visit_up_to(end, Region::State::free, pool);
    if (const Range refused = memory.refused(); refused.size != 0)
        visit({refused, refused, Region::State::hole, StreamId::default_stream, pool});
}

}  // namespace tidemark::policies
