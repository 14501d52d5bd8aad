// The tables that the parts of an engine share.
#include "core/tiers/engine/spill_state.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {
namespace {

// Buffers smaller than this fraction of a GPU stay as long as others can leave: copying them takes
// time and makes little room. Unless they hold more than that fraction together.
constexpr Bytes kSmallPart = 16384, kSmallTogether = 64;

double rate_of(const LinkSpec* link) {
    return link ? link->bytes_per_second / 1e9 : 0;
}

// Bytes/ns from each space to each: of the link or, without one, of the best two via a host; 0:
// there is no way.
std::vector<double> rates_of(const MachineSpec& machine) {
    const std::size_t count = machine.spaces.size();
    std::vector<double> rates(count * count);
    const auto direct = [&](std::size_t from, std::size_t to) {
        return rate_of(machine.link(machine.spaces[from].id, machine.spaces[to].id));
    };
    for (std::size_t from = 0; from < count; ++from)
        for (std::size_t to = 0; to < count; ++to) {
            double best = direct(from, to);
            for (std::size_t by = 0; by < count && direct(from, to) == 0; ++by)
                if (by != from && by != to && machine.spaces[by].id.tier == Tier::host)
                    best = std::max(best, std::min(direct(from, by), direct(by, to)));
            rates[from * count + to] = from == to ? 0 : best;
        }
    return rates;
}

}  // namespace

// Where victims of a space may be copied: by tier, then by the fastest way.
SpillState::SpillState(const MachineSpec& spec, std::span<MemorySpace* const> memories,
                       SpillOptions spill)
    : machine(spec), options(std::move(spill)), spaces(memories.size()), rates(rates_of(spec)) {
    TM_CHECK(memories.size() == spec.spaces.size() && memories.size() <= kMaskedSpaces);
    if (!options.victims.policy)
        options.victims = *parse_victim_policy("lru");
    for (std::size_t i = 0; i < memories.size(); ++i) {
        TM_CHECK(memories[i]->id() == machine.spaces[i].id);
        SpillSpace& space = spaces[i];
        const SpaceSpec& own = machine.spaces[i];
        space.memory = memories[i];
        space.background = own.thresholds().spill_start < own.capacity;
        space.small = own.id.tier == Tier::gpu ? own.capacity / kSmallPart : 0;
        space.small_left = own.capacity / kSmallTogether;
        for (std::size_t other = 0; other < memories.size(); ++other)
            if (machine.spaces[other].id.tier > own.id.tier && rate(i, other) > 0)
                space.slower.push_back(other);
        std::stable_sort(space.slower.begin(), space.slower.end(),
                         [&](std::size_t a, std::size_t b) {
                             const Tier first = machine.spaces[a].id.tier;
                             const Tier second = machine.spaces[b].id.tier;
                             return first != second ? first < second : rate(i, a) > rate(i, b);
                         });
        if (space.slower.empty())
            continue;
        space.out_rate = rate(i, space.slower.front());
        space.in_rate = rate(space.slower.front(), i);
    }
}

Bytes releasable(const Charge& charge) {
    if (!charge)
        return 0;
    const std::optional<ReservationFacts> payer = charge.space->find(charge.origin);
    return payer ? std::min(charge.size, payer->excess()) : charge.size;
}

double SpillState::rate(std::size_t source, std::size_t target) const {
    return rates[source * spaces.size() + target];
}

SpillBuffer* SpillState::find(BufferRef ref) {
    if (to_integer(ref.id) >= buffers.size())
        return nullptr;
    SpillBuffer& buffer = buffers[to_integer(ref.id)];
    return buffer.living() && buffer.generation == ref.generation ? &buffer : nullptr;
}

const SpillBuffer* SpillState::find(BufferRef ref) const {
    return const_cast<SpillState*>(this)->find(ref);
}

SpillBuffer* SpillState::find_usable(BufferRef ref) {
    SpillBuffer* buffer = find(ref);
    return buffer && buffer->usable() ? buffer : nullptr;
}

BufferRef SpillState::ref_of(std::uint32_t id) const {
    return {BufferId{id}, buffers[id].generation};
}

std::size_t SpillState::position(SpaceId space) const {
    const auto& all = machine.spaces;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const SpaceSpec& s) { return s.id == space; });
    return found == all.end() ? kNoSpace : static_cast<std::size_t>(found - all.begin());
}

void SpillState::report(std::uint32_t id, std::size_t space, BufferEvent::Kind kind) {
    if (buffers[id].gate && buffers[id].own_space == space)
        work.events.push_back({ref_of(id), kind});
}

void SpillState::refuse(RequestId request, Error error) {
    work.answers.push_back({.request = request, .refusal = std::move(error)});
}

void SpillState::set_failed_aside(std::uint32_t id) {
    buffers[id].set_aside = SetAside::failed;
    failed.push_back(id);
}

void SpillState::retry_failed() {
    for (const std::uint32_t id : failed)
        buffers[id].set_aside = SetAside::no;
    failed.clear();
}

void SpillState::look_outside() {
    for (SpillSpace& space : spaces) {
        const Bytes used = space.memory->used();
        const Bytes outside = used - std::min(used, space.charged);
        if (outside < space.outside)
            agenda.post(Happening::released);
        space.outside = outside;
    }
}

}  // namespace tidemark
