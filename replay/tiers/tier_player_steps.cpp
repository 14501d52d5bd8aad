// What a step asks the engine for.
#include <algorithm>

#include "replay/tiers/tier_player.h"

namespace tidemark {
namespace {

AccessMode mode_of(const TierUse& use) {
    if (!use.writes)
        return AccessMode::read;
    return use.reads ? AccessMode::write : AccessMode::overwrite;
}

}  // namespace

void TierPlayer::wait_for(std::uint32_t stream, RequestId request, Wait wait) {
    streams_[stream].wait = wait;
    streams_[stream].requested_at = decisions_;
    requests_.emplace(static_cast<std::uint64_t>(request), stream);
}

BufferSpec TierPlayer::spec_of(std::uint32_t stream, const TierStep& step) const {
    BufferSpec spec;
    spec.size = std::max<Bytes>(step.size, 1);
    spec.space = home_of(step.device);
    spec.tag = step.use;
    spec.patient = true;
    spec.blank = !step.has_content;
    if (step.tier != Tier::gpu) {
        spec.blank = false;
        spec.patient = false;
        spec.otherwise = spaces_of(step.tier, step.device);
        if (!spec.otherwise.empty()) {
            spec.space = spec.otherwise.front();
            spec.otherwise.erase(spec.otherwise.begin());
        }
    }
    for (const Held& held : held_)
        if (held.number == streams_[stream].held[static_cast<std::size_t>(step.tier)]) {
            if (step.tier != Tier::gpu)
                spec.space = held.reservation.space().id();  // it is paid for there
            if (held.reservation.space().id() == spec.space)
                spec.reservation = held.reservation.id();
        }
    return spec;
}

// Of the device, or of all of the tier.
std::vector<SpaceId> TierPlayer::spaces_of(Tier tier, std::uint32_t device) const {
    if (tier == Tier::gpu)
        return {home_of(device)};
    std::vector<SpaceId> spaces;
    for (const SpaceSpec& space : machine_.spaces)
        if (space.id.tier == tier)
            spaces.push_back(space.id);
    return spaces;
}

void TierPlayer::allocate(std::uint32_t stream, const TierStep& step) {
    wait_for(stream, engine_.create(spec_of(stream, step)), Wait::memory);
}

void TierPlayer::free(std::uint32_t stream, const TierStep& step) {
    Buffer& buffer = buffers_[step.value];
    buffer.refused = false;
    if (buffer.alive) {
        // Another stream may still be using it: the program frees it there, so its use is assumed
        // to end there.
        for (std::uint32_t other = 0; program_.streams > 1 && other < program_.streams; ++other)
            if (streams_[other].kernel != kNoStep && uses(streams_[other].kernel, step.value))
                end_kernel(other);  // which releases live buffers
        buffer.alive = false;
        const Result<void> ended = engine_.destroy(buffer.ref);
        TM_CHECK(ended);
    }
    step_done(stream);
}

bool TierPlayer::uses(std::uint32_t kernel, std::uint32_t buffer) const {
    const TierStep& step = program_.steps[kernel];
    const auto first = program_.uses.begin() + step.first;
    return std::any_of(first, first + step.count,
                       [buffer](const TierUse& use) { return to_integer(use.buffer) == buffer; });
}

AccessSpec TierPlayer::access_to(std::uint32_t stream, const TierStep& step) const {
    AccessSpec spec;
    spec.space = home_of(step.device);
    spec.stream = StreamId{stream + 1};
    spec.patient = true;
    return spec;
}

bool TierPlayer::uses_refused(const TierStep& kernel) const {
    const auto first = program_.uses.begin() + kernel.first;
    return std::any_of(first, first + kernel.count, [this](const TierUse& use) {
        return buffers_[to_integer(use.buffer)].refused;
    });
}

void TierPlayer::kernel(std::uint32_t stream, const TierStep& step) {
    if (run_.out_of_memory > 0 && uses_refused(step)) {
        ++run_.kernels_not_run;
        return step_done(stream);
    }
    uses_.clear();
    for (std::uint32_t i = step.first; i < step.first + step.count; ++i) {
        const TierUse& use = program_.uses[i];
        const Buffer& buffer = buffers_[to_integer(use.buffer)];
        if (buffer.alive)
            uses_.push_back({buffer.ref, mode_of(use), i});
    }
    const auto request = engine_.access_all(uses_, access_to(stream, step));
    if (request)
        wait_for(stream, *request, Wait::memory);
    else
        gathered(stream, nullptr);
}

void TierPlayer::end_kernel(std::uint32_t stream) {
    Actor& actor = streams_[stream];
    if (actor.kernel == kNoStep)
        return;
    const TierStep& kernel = program_.steps[actor.kernel];
    const SpaceId gpu = home_of(kernel.device);
    std::optional<UsePoint> point;
    if (stage_.runs_kernels())
        point = stage_.point(stream, gpu);
    for (std::uint32_t i = kernel.first; actor.holds && i < kernel.first + kernel.count; ++i) {
        const TierUse& use = program_.uses[i];
        if (!buffers_[to_integer(use.buffer)].alive)
            continue;
        if (point)
            point->wrote = use.writes;
        engine_.release(buffers_[to_integer(use.buffer)].ref, gpu, mode_of(use), point);
    }
    timeline_.add(SpanKind::kernel, stream, actor.kernel_begin, actor.clock);
    actor.kernel = kNoStep;
}

// The program's own hint: buffers that it moves down are evicted first from then on, buffers that
// it moves up stay.
void TierPlayer::move(const TierStep& step) {
    const Buffer& buffer = buffers_[step.value];
    if (!buffer.alive || spaces_of(step.tier, step.device).empty())
        return;
    engine_.copies().set_hint(buffer.ref, step.tier == Tier::gpu ? 1 : -1);
    std::erase_if(awaited_moves_,
                  [&](const AwaitedMove& other) { return other.buffer == step.value; });
    const AwaitedMove move{step.value, buffer.ref, step.tier, step.device};
    if (!begin_move(move))
        awaited_moves_.push_back(move);
}

// False: it is on its way somewhere else, or in use.
bool TierPlayer::begin_move(const AwaitedMove& move) {
    const std::vector<SpaceId> copies = engine_.copies().where(move.ref);
    if (copies.empty())
        return true;  // it was never written: it has no bytes to move
    if (copies.front().tier == move.tier)
        return true;
    if (copies.front().tier > move.tier) {
        AccessSpec spec;
        spec.space = spaces_of(move.tier, move.device).front();
        spec.mode = AccessMode::prefetch;
        (void)engine_.access(move.ref, spec);
        return true;
    }
    for (const SpaceId space : copies)
        if (space.tier < move.tier && !engine_.evict(move.ref, space, move.tier))
            return false;
    return true;
}

void TierPlayer::begin_awaited_moves() {
    std::erase_if(awaited_moves_, [this](const AwaitedMove& move) {
        const Buffer& buffer = buffers_[move.buffer];
        return !buffer.alive || !(buffer.ref == move.ref) || begin_move(move);
    });
}

// Of a reservation, in the order of attempts.
std::vector<SpaceId> TierPlayer::spaces_of(const TierStep& step) const {
    std::vector<SpaceId> spaces = spaces_of(step.tier, step.device);
    for (const auto& [flag, tier] :
         {std::pair(kOrDevice, Tier::gpu), std::pair(kOrHost, Tier::host),
          std::pair(kOrDisk, Tier::disk)}) {
        if ((step.otherwise & flag) == 0)
            continue;
        const std::vector<SpaceId> more = spaces_of(tier, step.device);
        spaces.insert(spaces.end(), more.begin(), more.end());
    }
    return spaces;
}

void TierPlayer::reserve(std::uint32_t stream, const TierStep& step) {
    const std::vector<SpaceId> spaces = spaces_of(step);
    if (scenario_.reservation == ReservationMode::ignore || spaces.empty())
        return step_done(stream);
    ++run_.reservations.requested;
    ReservationSpec spec;
    spec.spaces = spaces;
    spec.size = step.size;
    spec.up_to = scenario_.reservation == ReservationMode::up_to;
    spec.patient = true;
    wait_for(stream, engine_.reserve(spec), Wait::reservation);
}

void TierPlayer::release(std::uint32_t stream, const TierStep& step) {
    const auto held = std::find_if(held_.begin(), held_.end(),
                                   [&](const Held& other) { return other.task == step.value; });
    if (held != held_.end()) {
        for (Actor& other : streams_)
            for (std::uint32_t& number : other.held)
                if (number == held->number)
                    number = kNoStep;
        held_.erase(held);
        decide(true);
    }
    step_done(stream);
}

}  // namespace tidemark
