// Requests of the program, and the order in which the engine's parts decide.
#include "core/tiers/engine/spill_engine.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace tidemark {

SpillEngine::SpillEngine(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                         SpillOptions options)
    : state_(machine, spaces, std::move(options)),
      leaving_(state_),
      copies_(state_, leaving_),
      moves_(state_, leaving_, copies_),
      room_(state_, leaving_, copies_, moves_),
      accesses_(state_, copies_, moves_),
      reservations_(state_, room_),
      gates_(state_, copies_, room_, accesses_),
      ahead_(state_, copies_, moves_, room_),
      driver_(state_, leaving_, copies_, moves_, room_, accesses_),
      waits_({state_, leaving_, copies_, moves_, room_, accesses_, reservations_, driver_}) {}

SpillEngine::~SpillEngine() {
    TM_CHECK(copies_.buffers() == 0 && !busy());
}

RequestId SpillEngine::create(const BufferSpec& spec) {
    const RequestId request = state_.next_request();
    std::vector<std::size_t> targets{state_.position(spec.space)};
    for (const SpaceId other : spec.otherwise)
        targets.push_back(state_.position(other));
    if (state_.closing) {
        state_.refuse(request, closed_error());
        return request;
    }
    if (spec.size == 0 || spec.size >= kLargestRequest ||
        std::find(targets.begin(), targets.end(), kNoSpace) != targets.end()) {
        state_.refuse(request, {ErrorCode::unsupported, "a buffer of that size can't begin there",
                                to_text(spec.space), "spaces of the machine"});
        return request;
    }
    state_.unbar();
    const std::uint32_t id = copies_.add_buffer(spec);
    state_.moved_on = state_.options.prefetch;
    state_.buffers[id].creation = request;
    BufferMove move;
    move.kind = MoveKind::create;
    move.target = targets.front();
    move.others.assign(targets.begin() + 1, targets.end());
    move.patient = spec.patient;
    move.reservation = spec.reservation;
    moves_.begin(id, std::move(move));
    return request;
}

BufferRef SpillEngine::found(const BufferSpec& spec) {
    TM_CHECK(state_.position(spec.space) != kNoSpace && spec.size != 0 && !state_.closing);
    const std::uint32_t id = copies_.add_buffer(spec);
    state_.buffers[id].blank = true;
    return state_.ref_of(id);
}

BufferRef SpillEngine::adopt(const BufferSpec& spec, const BlockLocation& location) {
    const std::size_t space = state_.position(location.space);
    TM_CHECK(space != kNoSpace && spec.size != 0 && !state_.closing);
    BufferSpec there = spec;
    there.space = location.space;
    there.blank = false;
    const std::uint32_t id = copies_.add_buffer(there);
    BufferCopy copy;
    copy.space = space;
    copy.location = location;
    copy.owned = false;
    copies_.add(id, std::move(copy));
    return state_.ref_of(id);
}

void SpillEngine::release(BufferRef ref, SpaceId space, AccessMode mode,
                          std::optional<UsePoint> point) {
    SpillBuffer* buffer = state_.find(ref);
    TM_CHECK(buffer);
    copies_.let_go(to_integer(ref.id), state_.position(space), mode);
    if (point) {
        TM_CHECK(point->space == space);
        copies_.note_use(*buffer, *point);
    }
    if (!anybody_waits())
        return;
    state_.changed = state_.stirred = state_.let_go = true;
    accesses_.serve(to_integer(ref.id));
}

Result<void> SpillEngine::destroy(BufferRef ref) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer || buffer->doomed)
        return tl::make_unexpected(gone_error());
    for (const BufferCopy& copy : buffer->copies)
        if (copy.users != 0)
            return fail(ErrorCode::bad_input, "the buffer is in use", to_text(copy.location.space));
    const std::uint32_t id = to_integer(ref.id);
    if (!copies_.try_shut(id))
        return fail(ErrorCode::bad_input, "the buffer is pinned", "");
    buffer->doomed = true;
    state_.let_go = state_.let_go || accesses_.anybody_parked();
    while (!buffer->waiting.empty())
        accesses_.fail_first(id, gone_error());
    copies_.end_life(id);
    if (!buffer->move || moves_.cancel(id))
        copies_.end_buffer(id);
    return {};
}

bool SpillEngine::set_may_spill(BufferRef ref, bool may_spill) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer)
        return false;
    buffer->may_spill = may_spill;
    state_.let_go = true;
    if (!may_spill && buffer->move && buffer->move->kind == MoveKind::spill)
        moves_.stay(*buffer->move);
    state_.changed = true;
    return true;
}

bool SpillEngine::evict(BufferRef ref, SpaceId id, std::optional<Tier> tier) {
    const std::size_t space = state_.position(id);
    if (!state_.find(ref) || space == kNoSpace || state_.closing ||
        !copies_.may_leave(space, to_integer(ref.id)))
        return false;
    room_.leave(to_integer(ref.id), space, RequestId::none, tier);
    return true;
}

void SpillEngine::mark(std::uint64_t name_hash) {
    if (state_.options.forecast)
        state_.options.forecast->marked(name_hash);
}

void SpillEngine::schedule(bool stirred) {
    state_.stirred = state_.stirred || stirred;
    if (stirred && accesses_.anybody_parked())
        state_.look_outside();
    bool looked =
        !(state_.options.prefetch && (state_.moved_on || state_.room_came)) || state_.closing;
    do {
        if (std::exchange(state_.stirred, false))
            driver_.line_up_parked();
        if (std::exchange(state_.let_go, false))
            accesses_.retry_parked();
        accesses_.enter_parked();
        state_.changed = false;
        reservations_.serve();
        for (std::size_t i = 0; i < state_.spaces.size(); ++i) {
            if (leaving_.anybody_waits())
                room_.serve_frees(i);
            if (!state_.spaces[i].line.empty())
                driver_.serve_line(i);
            if (state_.spaces[i].background && !state_.closing)
                room_.spill_in_background(i);
        }
        for (std::size_t i = 0; !state_.changed && !looked && i < state_.spaces.size(); ++i)
            if (state_.machine.spaces[i].id.tier == Tier::gpu)
                ahead_.look(i);
        looked = looked || state_.changed;
    } while (state_.changed || state_.stirred || state_.let_go);
    state_.moved_on = state_.room_came = false;
}

void SpillEngine::take_work(SpillWork& done) {
    done.clear();
    std::swap(state_.work, done);
}

std::vector<SpillAnswer> SpillEngine::take_answers() {
    return std::exchange(state_.work.answers, {});
}

void SpillEngine::left(std::uint64_t deferred, Bytes freed) {
    if (const std::optional<std::size_t> space = leaving_.left(deferred, freed))
        moves_.pay_owed(*space, freed);
    state_.stirred = state_.stirred || anybody_waits();
}

void SpillEngine::shut_down() {
    state_.closing = true;
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id) {
        SpillBuffer& buffer = state_.buffers[id];
        if (!buffer.living)
            continue;
        while (!buffer.waiting.empty())
            accesses_.fail_first(id, closed_error());
        if (buffer.creation != RequestId::none) {
            state_.refuse(std::exchange(buffer.creation, RequestId::none), closed_error());
            buffer.doomed = true;
        }
        if (buffer.move && moves_.cancel(id) && buffer.doomed)
            copies_.end_buffer(id);
    }
    room_.refuse_frees();
    accesses_.refuse_parked();
    reservations_.refuse_all();
}

void SpillEngine::end_all() {
    TM_CHECK(state_.closing && moves_.moving().empty());
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id)
        if (state_.buffers[id].living)
            copies_.end_buffer(id);
}

bool SpillEngine::anybody_waits() const {
    return !moves_.moving().empty() || accesses_.waiting() != 0 || leaving_.anybody_waits() ||
           accesses_.anybody_parked() || !reservations_.empty();
}

}  // namespace tidemark
