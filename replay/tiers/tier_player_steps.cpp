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
        bool first = true;
        for (const SpaceSpec& space : machine_.spaces) {
            if (space.id.tier != step.tier)
                continue;
            if (first)
                spec.space = space.id;
            else
                spec.otherwise.push_back(space.id);
            first = false;
        }
        return spec;
    }
    for (const Held& held : held_)
        if (held.number == streams_[stream].held && held.reservation.space().id() == spec.space)
            spec.reservation = held.reservation.id();
    return spec;
}

void TierPlayer::allocate(std::uint32_t stream, const TierStep& step) {
    wait_for(stream, engine_.create(spec_of(stream, step)), Wait::memory);
}

void TierPlayer::free(std::uint32_t stream, const TierStep& step) {
    Buffer& buffer = buffers_[step.value];
    if (buffer.alive) {
        // Another stream may be using it still: that is what the program says, so it is taken to
        // end there.
        for (std::uint32_t other = 0; program_.streams > 1 && other < program_.streams; ++other)
            if (streams_[other].kernel != kNoStep && uses(streams_[other].kernel, step.value))
                end_kernel(other);  // which gives back what lives
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

void TierPlayer::kernel(std::uint32_t stream, const TierStep& step) {
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

// The program's own hint: what it moves down leaves first from then on, what it moves up stays.
void TierPlayer::move(const TierStep& step) {
    const Buffer& buffer = buffers_[step.value];
    if (!buffer.alive)
        return;
    engine_.copies().set_hint(buffer.ref, step.tier == Tier::gpu ? 1 : -1);
    if (step.tier != Tier::gpu) {
        (void)engine_.evict(buffer.ref, home_of(step.device));
        return;
    }
    AccessSpec spec;
    spec.space = home_of(step.device);
    spec.mode = AccessMode::prefetch;
    (void)engine_.access(buffer.ref, spec);
}

void TierPlayer::reserve(std::uint32_t stream, const TierStep& step) {
    if (scenario_.reservation == ReservationMode::ignore || step.tier != Tier::gpu)
        return step_done(stream);
    ++run_.reservations.requested;
    ReservationSpec spec;
    spec.spaces = {home_of(step.device)};
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
            if (other.held == held->number)
                other.held = kNoStep;
        held_.erase(held);
        decide(true);
    }
    step_done(stream);
}

}  // namespace tidemark
