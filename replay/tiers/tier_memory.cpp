// Residents, victims and room of the GPUs.
#include "replay/tiers/tier_memory.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

// Smaller buffers than this part of their space stay as long as others can leave: a copy of theirs
// takes its time and makes no room to speak of.
constexpr Bytes kSmallPart = 16384;
constexpr std::uint64_t kRecent = 2;  // uses

}  // namespace

struct TierMemory::Gpu final : public Residents {
    Gpu(const TierMemory& memory_, const SpaceSpec& spec)
        : memory(memory_),
          id(spec.id),
          account(spec.capacity, spec.thresholds().limit),
          room(spec.capacity),
          small(spec.capacity / kSmallPart) {}

    bool may_leave(BufferId buffer) const override { return memory.may_leave(buffer); }

    BufferFacts facts(BufferId buffer) const override {
        const Buffer& known = memory.buffer(buffer);
        BufferFacts facts;
        facts.size = known.size;
        facts.now = memory.operations_;
        facts.hint = known.hint;
        facts.dirty = memory.dirty(buffer);
        facts.empty = !known.content;
        if (const Forecast* const forecast = memory.stand_.forecast; forecast != nullptr) {
            facts.now = forecast->now();
            facts.next_use = forecast->next_use(buffer);
            facts.end = forecast->end_of(buffer);
        }
        return facts;
    }

    const TierMemory& memory;
    SpaceId id;
    SpaceAccount account;
    RoomTimes room;
    Bytes small;
    Bytes reserved = 0;  // by living reservations, used or not
    std::unique_ptr<VictimPolicy> policy;
    std::optional<std::size_t> in;
    std::optional<std::size_t> out;
};

TierMemory::TierMemory(const TierStand& stand, std::uint32_t buffers, bool keep_copies)
    : stand_(stand), below_(stand, buffers), keep_copies_(keep_copies), buffers_(buffers) {
    const auto ns_per_byte = [&](std::optional<std::size_t> link) {
        return link ? 1e9 / stand.links.spec(*link).bytes_per_second : 0;
    };
    for (const SpaceSpec& spec : stand.machine.spaces) {
        if (spec.id.tier != Tier::gpu)
            continue;
        auto gpu = std::make_unique<Gpu>(*this, spec);
        for (const SpaceSpec& other : stand.machine.spaces) {
            if (other.id.tier == Tier::gpu)
                continue;
            if (!gpu->out)
                gpu->out = stand.links.find(spec.id, other.id);
            if (!gpu->in)
                gpu->in = stand.links.find(other.id, spec.id);
        }
        VictimContext context;
        context.residents = gpu.get();
        context.capacity = spec.capacity;
        context.out_ns_per_byte = ns_per_byte(gpu->out);
        context.in_ns_per_byte = ns_per_byte(gpu->in);
        gpu->policy = stand.victims.policy->make(context, stand.victims.options);
        gpus_.push_back(std::move(gpu));
    }
}

TierMemory::~TierMemory() = default;

std::uint32_t TierMemory::gpu_of(SpaceId home) const {
    std::uint32_t gpu = 0;
    while (gpu < gpus_.size() && gpus_[gpu]->id != home)
        ++gpu;
    TM_CHECK(gpu < gpus_.size());
    return gpu;
}

const SpaceAccount& TierMemory::account(SpaceId home) const {
    return gpus_[gpu_of(home)]->account;
}

std::optional<std::size_t> TierMemory::link_in(SpaceId home) const {
    return gpus_[gpu_of(home)]->in;
}

std::optional<std::size_t> TierMemory::link_out(SpaceId home) const {
    return gpus_[gpu_of(home)]->out;
}

void TierMemory::begin_life(BufferId id, Bytes size, SpaceId home, std::uint32_t task) {
    Buffer& made = buffer(id);
    TM_CHECK(!made.alive);
    made = {};
    made.alive = true;
    made.size = size;
    made.gpu = gpu_of(home);
    made.task = task;
    if (stand_.executor != nullptr)
        stand_.executor->begin_life(id, size);
}

void TierMemory::end_life(BufferId id, Nanoseconds now) {
    Buffer& ending = buffer(id);
    TM_CHECK(ending.alive && ending.pins == 0);
    below_.forget(id, now);
    if (ending.resident)
        take_away(id, now, Departure::freed);
    else
        gpus_[ending.gpu]->policy->forget(id);
    ending.alive = false;
    if (stand_.executor != nullptr)
        stand_.executor->end_life(id);
}

bool TierMemory::may_leave(BufferId id) const {
    const Buffer& known = buffer(id);
    if (known.pins > 0 || (known.charged > 0 && active(known.task) && known.task != asking_))
        return false;
    if (may_wait_)
        return true;
    // A guess may be wrong: what was used a moment ago is likely to be used again, whatever it
    // says.
    const bool recent = stand_.guesses && operations_ - known.touched < kRecent;
    return known.ready <= now_ && !known.ahead && known.size >= gpus_[known.gpu]->small && !recent;
}

// The next number, and what is done under it.
CopyNumber TierMemory::copied_out(BufferId id) {
    traffic_.spilled += buffer(id).size;
    buffer(id).copy = ++copies_out_;
    if (stand_.executor != nullptr)
        stand_.executor->copy_out(id, copies_out_);
    return copies_out_;
}

void TierMemory::take_away(BufferId id, Nanoseconds when, Departure why, CopyNumber copy) {
    Buffer& known = buffer(id);
    Gpu& gpu = *gpus_[known.gpu];
    const bool pays_back = known.charged > 0 && active(known.task);
    gpu.policy->erase(id, why);
    gpu.account.deallocate(known.size, pays_back ? known.charged : 0);
    if (pays_back)
        tasks_[known.task].unused += known.charged;
    stand_.timeline.level(known.gpu, gpu.account);
    gpu.room.give(known.size, std::max({when, known.idle, known.ready}), copy);
    if (known.ahead)
        traffic_.wasted += known.size;
    known.charged = 0;
    known.ahead = false;
    known.resident = false;
    below_.set_duplicate(id, false);
}

// A resident buffer leaves its GPU: dropped if it is clean, copied out if not.
bool TierMemory::leave(BufferId id, Nanoseconds now) {
    Buffer& known = buffer(id);
    const Nanoseconds free_from = std::max({now, known.idle, known.ready});
    Nanoseconds gone = free_from;
    CopyNumber copy = 0;
    if (dirty(id)) {
        const auto moved = below_.store(id, known.size, gpus_[known.gpu]->id, free_from);
        if (!moved)
            return false;
        gone = moved->end;
        copy = copied_out(id);
    } else {
        if (below_.holds(id)) {
            gone = std::max(gone, below_.complete_at(id));
            copy = known.copy;
        }
        traffic_.dropped += known.size;
        stand_.timeline.add(SpanKind::drop, known.gpu, gone, gone, known.size, to_integer(id));
    }
    ++traffic_.evictions;
    if (stand_.forecast != nullptr && known.content)
        evicted_.push_back(id);
    if (stand_.forecast != nullptr)
        earliest_evicted_ = std::min(earliest_evicted_, stand_.forecast->next_use(id));
    take_away(id, gone, Departure::evicted, copy);
    return true;
}

// What the task's reservation would pay of an allocation.
Bytes TierMemory::payable(std::uint32_t task, Bytes size) const {
    return active(task) ? std::min(tasks_[task].unused, size) : 0;
}

// Evicts until `size` bytes can be had, of which the reservation of `payer` pays what it can. What
// has to leave is chosen by the policy, first among those that are there and idle, then among those
// that are still arriving.
bool TierMemory::make_room(Gpu& gpu, Bytes size, std::uint32_t payer, std::uint32_t asking) {
    if (size > gpu.account.capacity())
        return false;
    asking_ = asking;
    may_wait_ = false;
    bool made = true;
    while (made && gpu.account.available() + payable(payer, size) < size) {
        const auto victim = gpu.policy->victim();
        if (victim)
            made = leave(*victim, now_);
        else if (!may_wait_)
            may_wait_ = true;
        else
            made = false;
    }
    may_wait_ = false;
    asking_ = kNoTask;
    return made;
}

std::optional<Arrival> TierMemory::bring_in(BufferId id, bool reads, Nanoseconds now) {
    const Buffer& known = buffer(id);
    TM_CHECK(known.alive && !known.resident);
    now_ = now;
    if (!make_room(*gpus_[known.gpu], known.size, known.task, known.task))
        return std::nullopt;
    return settle(id, reads, now, false);
}

bool TierMemory::bring_in_ahead(BufferId id, std::uint64_t position, Bytes spare, Nanoseconds now) {
    const Buffer& known = buffer(id);
    TM_CHECK(known.alive && !known.resident && stand_.forecast != nullptr);
    Gpu& gpu = *gpus_[known.gpu];
    now_ = now;
    const Bytes wanted = known.size + spare;
    while (gpu.account.available() + payable(known.task, known.size) < wanted) {
        const auto victim = gpu.policy->victim();
        if (stand_.guesses || !victim || stand_.forecast->next_use(*victim) == kUnknownUse ||
            stand_.forecast->next_use(*victim) <= position || !leave(*victim, now))
            return false;
    }
    settle(id, true, now, true);
    return true;
}

std::uint64_t TierMemory::take_earliest_evicted() {
    return std::exchange(earliest_evicted_, kNeverUsed);
}

Arrival TierMemory::settle(BufferId id, bool reads, Nanoseconds now, bool ahead) {
    Buffer& known = buffer(id);
    Gpu& gpu = *gpus_[known.gpu];
    known.charged = payable(known.task, known.size);
    if (known.charged > 0)
        tasks_[known.task].unused -= known.charged;
    const bool fits = gpu.account.try_allocate(known.size, known.charged);
    TM_CHECK(fits);
    stand_.timeline.level(known.gpu, gpu.account);
    Arrival arrival;
    const Room room = gpu.room.take(known.size, now);
    arrival.room = room.when;
    arrival.ready = room.when;
    arrival.copy = room.copy;
    if (below_.holds(id)) {
        if (reads) {
            arrival.ready = below_.load(id, gpu.id, arrival.room).done;
            if (stand_.executor != nullptr)
                stand_.executor->copy_in(id, room.copy);
            traffic_.fetched += known.size;
            traffic_.prefetched += ahead ? known.size : 0;
            if (!ahead && stand_.forecast != nullptr)
                fetched_.push_back(id);
        }
        if (reads && keep_copies_)
            below_.set_duplicate(id, true);
        else
            below_.forget(id, arrival.ready);
    }
    known.ready = arrival.ready;
    known.resident = true;
    known.ahead = ahead;
    gpu.policy->insert(id);
    return arrival;
}

bool TierMemory::place_below(BufferId id, Tier tier, Nanoseconds now) {
    if (!below_.place(id, buffer(id).size, tier, now))
        return false;
    buffer(id).content = true;
    return true;
}

void TierMemory::used(BufferId id, bool writes, Nanoseconds now) {
    Buffer& known = buffer(id);
    known.ahead = false;
    if (writes) {
        known.content = true;
        below_.forget(id, now);
    }
}

void TierMemory::set_hint(BufferId id, std::int32_t hint) {
    buffer(id).hint = hint;
    if (buffer(id).resident)
        gpus_[buffer(id).gpu]->policy->revise(id);
}

void TierMemory::touched(BufferId id, std::uint64_t now) {
    operations_ = now;
    buffer(id).touched = now;
    gpus_[buffer(id).gpu]->policy->touch(id);
}

bool TierMemory::evict(BufferId id, Nanoseconds now) {
    now_ = now;
    return buffer(id).resident && may_leave(id) && leave(id, now);
}

std::optional<BufferId> TierMemory::next_victim(SpaceId home, Nanoseconds now) {
    now_ = now;
    return gpus_[gpu_of(home)]->policy->victim();
}

bool TierMemory::reserve(std::uint32_t task, Bytes size, SpaceId home, Nanoseconds now) {
    if (task >= tasks_.size())
        tasks_.resize(task + 1);
    TM_CHECK(!tasks_[task].active);
    tasks_[task].gpu = gpu_of(home);
    if (!grow(task, size, now))
        return false;
    tasks_[task].active = true;
    return true;
}

Bytes TierMemory::reserve_up_to(std::uint32_t task, Bytes size, SpaceId home, Nanoseconds now) {
    const Gpu& gpu = *gpus_[gpu_of(home)];
    const Bytes granted = std::min(size, gpu.account.limit() - gpu.reserved);
    if (reserve(task, granted, home, now))
        return granted;
    const bool nothing = reserve(task, 0, home, now);
    TM_CHECK(nothing);
    return 0;
}

// Only what others have reserved stands in the way for good: whatever is merely resident can leave.
bool TierMemory::grow(std::uint32_t task, Bytes size, Nanoseconds now) {
    Task& growing = tasks_[task];
    Gpu& gpu = *gpus_[growing.gpu];
    if (size > gpu.account.limit() - gpu.reserved)
        return false;
    now_ = now;
    const Bytes beyond = gpu.account.capacity() - gpu.account.limit();
    if (!make_room(gpu, size + beyond, kNoTask, kNoTask) || !gpu.account.try_reserve(size))
        return false;
    growing.unused += size;
    growing.size += size;
    gpu.reserved += size;
    stand_.timeline.level(growing.gpu, gpu.account);
    return true;
}

void TierMemory::release(std::uint32_t task) {
    if (!active(task))
        return;
    Task& ending = tasks_[task];
    Gpu& gpu = *gpus_[ending.gpu];
    gpu.account.unreserve(ending.unused);
    gpu.reserved -= ending.size;
    stand_.timeline.level(ending.gpu, gpu.account);
    ending = {};
}

Bytes TierMemory::unused(std::uint32_t task) const {
    return active(task) ? tasks_[task].unused : 0;
}

void TierMemory::report(std::vector<TierSpacePeak>& peaks) const {
    for (const auto& gpu : gpus_)
        peaks.push_back({gpu->id, gpu->account.capacity(), gpu->account.peak_used()});
    below_.report(peaks);
}

}  // namespace tidemark
