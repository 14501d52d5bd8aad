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
      holds_(state_),
      copies_(state_, leaving_, holds_),
      moves_(state_, leaving_, copies_),
      room_(state_, holds_, copies_, moves_),
      frees_(state_, leaving_, copies_, moves_, room_),
      accesses_(state_, holds_, copies_, moves_),
      reservations_(state_, room_),
      ahead_(state_, copies_, moves_, room_) {}

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
        state_.refuse(request, {ErrorCode::unsupported, "a buffer of that size can't start there",
                                to_text(spec.space), "spaces of the machine"});
        return request;
    }
    state_.retry_failed();
    const std::uint32_t id = copies_.add_buffer(spec);
    if (state_.options.prefetch)
        state_.agenda.post(Happening::advanced);
    BufferMove move;
    move.kind = MoveKind::create;
    move.when_full = spec.patient ? WhenFull::evict_or_wait : WhenFull::evict;
    move.request = request;
    move.target = targets.front();
    move.others.assign(targets.begin() + 1, targets.end());
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
    copies_.add(id, std::move(copy));
    return state_.ref_of(id);
}

void SpillEngine::release(BufferRef ref, SpaceId space, AccessMode mode,
                          std::optional<UsePoint> point) {
    SpillBuffer* buffer = state_.find(ref);
    TM_CHECK(buffer);
    holds_.let_go(to_integer(ref.id), state_.position(space), mode);
    if (point) {
        TM_CHECK(point->space == space);
        Holds::note_use(*buffer, *point);
    }
    let_go(to_integer(ref.id));
}

void SpillEngine::admit(BufferRef ref, bool write) {
    TM_CHECK(state_.find(ref));
    holds_.admit(to_integer(ref.id), write);
    let_go(to_integer(ref.id));
}

void SpillEngine::unsealed(BufferRef ref, bool writers) {
    TM_CHECK(state_.find(ref));
    holds_.unsealed(to_integer(ref.id), writers);
    let_go(to_integer(ref.id));
}

// Everyone who waits for the buffer, or for room, tries again.
void SpillEngine::let_go(std::uint32_t id) {
    if (!anybody_waits())
        return;
    state_.agenda.post(Happening::freed);
    state_.agenda.post(Happening::released);
    accesses_.serve(id);
}

Result<void> SpillEngine::destroy(BufferRef ref) {
    const SpillBuffer* buffer = state_.find_usable(ref);
    if (!buffer)
        return tl::make_unexpected(gone_error());
    for (const BufferCopy& copy : buffer->copies)
        if (copy.users != 0)
            return fail(ErrorCode::bad_input, "the buffer is in use", to_text(copy.location.space));
    const std::uint32_t id = to_integer(ref.id);
    if (!holds_.try_shut(id))
        return fail(ErrorCode::bad_input, "the buffer is pinned", "");
    if (accesses_.anybody_parked())
        state_.agenda.post(Happening::released);
    moves_.destroy(id);
    while (!buffer->waiting.empty())
        accesses_.fail_first(id, gone_error());
    moves_.end(id);
    return {};
}

bool SpillEngine::set_may_spill(BufferRef ref, bool may_spill) {
    SpillBuffer* buffer = state_.find(ref);
    if (!buffer)
        return false;
    buffer->may_spill = may_spill;
    if (!may_spill && buffer->move)
        moves_.keep_source(*buffer->move);
    state_.agenda.post(Happening::released);
    return true;
}

bool SpillEngine::evict(BufferRef ref, SpaceId id, std::optional<Tier> tier) {
    const std::size_t space = state_.position(id);
    if (!state_.find(ref) || space == kNoSpace || state_.closing ||
        !copies_.may_leave(space, to_integer(ref.id)))
        return false;
    room_.leave(to_integer(ref.id), space, {}, tier);
    return true;
}

std::vector<VictimCandidate> SpillEngine::candidates(SpaceId id, Bytes size) {
    const std::size_t space = state_.position(id);
    return space == kNoSpace ? std::vector<VictimCandidate>() : copies_.candidates(space, size);
}

void SpillEngine::mark(std::uint64_t name_hash) {
    if (state_.options.forecast)
        state_.options.forecast->marked(name_hash);
}

void SpillEngine::schedule(bool stirred) {
    if (stirred && accesses_.anybody_parked())
        state_.look_outside();
    if (stirred)
        state_.agenda.post(Happening::freed);
    state_.agenda.post(Happening::changed);  // others may have used the spaces
    while (const std::optional<Happening> next = state_.agenda.next()) {
        switch (*next) {
            case Happening::freed:
                room_.wake_parked();
                break;
            case Happening::released:
                accesses_.retry_parked();
                break;
            case Happening::changed:
                serve();
                break;
            case Happening::advanced:
                look_ahead(true);
                break;
            case Happening::freed_ahead:
                look_ahead(false);
                break;
        }
    }
}

void SpillEngine::serve() {
    accesses_.enter_parked();
    reservations_.serve();
    for (std::size_t i = 0; i < state_.spaces.size(); ++i) {
        if (leaving_.anybody_waits())
            frees_.serve(i);
        while (!state_.spaces[i].line.empty() && room_.serve_head(i))
            take_ends();
        if (state_.spaces[i].background && !state_.closing)
            room_.spill_in_background(i);
    }
    // What is needed now has priority over what will be needed.
    if (state_.agenda.holds(Happening::changed)) {
        state_.agenda.drop(Happening::advanced);
        state_.agenda.drop(Happening::freed_ahead);
    }
}

// Those who wait for buffers whose moves have ended.
void SpillEngine::take_ends() {
    while (std::optional<MoveEnd> end = state_.agenda.next_end())
        accesses_.moved(std::move(*end));
}

void SpillEngine::look_ahead(bool advanced) {
    state_.agenda.drop(Happening::freed_ahead);
    for (std::size_t i = 0; !state_.closing && i < state_.spaces.size(); ++i)
        ahead_.look(i, advanced);
}

void SpillEngine::take_work(SpillWork& done) {
    done.clear();
    std::swap(state_.work, done);
}

std::vector<SpillAnswer> SpillEngine::take_answers() {
    return std::exchange(state_.work.answers, {});
}

void SpillEngine::placed(BufferRef buffer, Result<BlockLocation> location) {
    moves_.placed(buffer, std::move(location));
    take_ends();
}

void SpillEngine::copied(BufferRef buffer, CopyDone done) {
    // Buffers that were fetched for nobody in particular may leave for someone who found no room.
    if (accesses_.anybody_parked())
        state_.agenda.post(Happening::released);
    moves_.copied(buffer, std::move(done));
    take_ends();
}

void SpillEngine::left(std::uint64_t deferred, Bytes freed) {
    if (const std::optional<std::size_t> space = leaving_.left(deferred, freed))
        moves_.pay_owed(*space, freed);
    if (anybody_waits())
        state_.agenda.post(Happening::freed);
}

void SpillEngine::shut_down() {
    state_.closing = true;
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id) {
        SpillBuffer& buffer = state_.buffers[id];
        while (!buffer.waiting.empty())
            accesses_.fail_first(id, closed_error());
        if (!buffer.move || !buffer.usable())
            continue;
        if (buffer.move->kind == MoveKind::create) {
            state_.refuse(buffer.move->request, closed_error());
            moves_.destroy(id);
            moves_.end(id);
        } else {
            (void)moves_.cancel(id);
        }
    }
    frees_.refuse_all();
    accesses_.refuse_parked();
    reservations_.refuse_all();
}

void SpillEngine::end_all() {
    TM_CHECK(state_.closing && moves_.moving().empty());
    for (std::uint32_t id = 0; id < state_.buffers.size(); ++id) {
        if (!state_.buffers[id].living())
            continue;
        moves_.destroy(id);
        moves_.end(id);
    }
}

bool SpillEngine::anybody_waits() const {
    return !moves_.moving().empty() || accesses_.waiting() != 0 || leaving_.anybody_waits() ||
           accesses_.anybody_parked() || !reservations_.empty();
}

// Who waits without hope, and who no longer waits.

bool SpillEngine::give_up_one() {
    const bool given_up =
        accesses_.give_up_one() || reservations_.give_up_one() || room_.give_up_one();
    take_ends();
    return given_up;
}

bool SpillEngine::give_up_hopeless() {
    const bool waits =
        accesses_.anybody_parked() || !reservations_.empty() || room_.anybody_parked();
    return waits && !settling() && !state_.closing && !restless() && !anybody_holds() &&
           give_up_one();
}

bool SpillEngine::anybody_holds() const {
    for (const SpillSpace& space : state_.spaces) {
        const SpaceCounters now = space.memory->counters();
        if (now.reservations != 0 || now.allocated > space.charged)
            return true;
    }
    return std::ranges::any_of(state_.buffers, [](const SpillBuffer& buffer) {
        return std::ranges::any_of(buffer.copies, [&](const BufferCopy& copy) {
            return copy.users != 0 || buffer.pinned_in(copy.space);
        });
    });
}

bool SpillEngine::withdraw(RequestId request, Error why) {
    std::size_t space = accesses_.space_of(request);
    if (space == kNoSpace)
        space = reservations_.space_of(request);
    if (space != kNoSpace && why.hint.empty())
        why.hint = room_.holders(space);
    return accesses_.withdraw_request(request, why) || reservations_.withdraw(request, why) ||
           frees_.withdraw(request) || withdraw_creation(request, std::move(why));
}

bool SpillEngine::withdraw_creation(RequestId request, Error why) {
    const auto found = std::ranges::find_if(moves_.moving(), [&](std::uint32_t id) {
        const SpillBuffer& buffer = state_.buffers[id];
        return buffer.usable() && buffer.move->kind == MoveKind::create &&
               buffer.move->request == request;
    });
    if (found == moves_.moving().end())
        return false;
    const std::uint32_t id = *found;
    if (why.hint.empty())
        why.hint = room_.holders(state_.buffers[id].move->target);
    state_.refuse(request, std::move(why));
    moves_.destroy(id);
    moves_.end(id);
    return true;
}

}  // namespace tidemark
