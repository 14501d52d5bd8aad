// The engine's table of buffers, what the program asks of it, and its shell's turn.
#include "core/tiers/engine/spill_engine.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {

std::string_view to_text(StoreFault fault) {
    constexpr std::string_view kTexts[] = {"no room",   "failed", "unsupported",
                                           "not found", "in use", "shut down"};
    return kTexts[static_cast<std::size_t>(fault)];
}

std::string FreeReport::text() const {
    std::string text =
        to_text(space) + ": freed " + format_bytes(freed) + " of " + format_bytes(asked);
    const std::pair<Bytes, const char*> reasons[] = {{in_use, "in use"},
                                                     {kept, "not to be spilled"},
                                                     {reserved, "of living reservations"},
                                                     {no_room, "without room below"}};
    const char* separator = ": ";
    for (const auto& [bytes, reason] : reasons) {
        if (bytes == 0)
            continue;
        text += separator + format_bytes(bytes) + " " + reason;
        separator = ", ";
    }
    if (failed_copies != 0)
        text += separator + format_count(failed_copies) + " copies failed";
    return text;
}

namespace {

// Smaller buffers than this part of a GPU stay as long as others can leave: a copy of theirs takes
// its time and makes no room to speak of.
constexpr Bytes kSmallPart = 16384;

double rate_of(const LinkSpec* link) {
    return link ? link->bytes_per_second / 1e9 : 0;
}

// Bytes/ns from each space to each: of the link, or, where there is none, of the best two by way of
// a host; 0: there is no way.
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

// What victims of `source` may be copied to is by tier, then by the fastest way.
SpillEngine::SpillEngine(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                         SpillOptions options)
    : machine_(machine),
      options_(std::move(options)),
      spaces_(spaces.size()),
      rates_(rates_of(machine)) {
    TM_CHECK(spaces.size() == machine.spaces.size() && spaces.size() <= kMaskedSpaces);
    if (!options_.victims.policy)
        options_.victims = *parse_victim_policy("lru");
    for (std::size_t i = 0; i < spaces.size(); ++i) {
        TM_CHECK(spaces[i]->id() == machine.spaces[i].id);
        SpillSpace& space = spaces_[i];
        const SpaceSpec& spec = machine.spaces[i];
        space.memory = spaces[i];
        space.residents = std::make_unique<SpaceResidents>(*this, i);
        space.background = spec.thresholds().spill_start < spec.capacity;
        space.small = spec.id.tier == Tier::gpu ? spec.capacity / kSmallPart : 0;
        for (std::size_t other = 0; other < spaces.size(); ++other)
            if (machine.spaces[other].id.tier > spec.id.tier && rate(i, other) > 0)
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
        const auto ns_per_byte = [](double rate) { return rate > 0 ? 1 / rate : 0; };
        const VictimContext context{.residents = space.residents.get(),
                                    .capacity = spec.capacity,
                                    .out_ns_per_byte = ns_per_byte(space.out_rate),
                                    .in_ns_per_byte = ns_per_byte(space.in_rate)};
        space.policy = options_.victims.policy->make(context, options_.victims.options);
    }
}

SpillEngine::~SpillEngine() {
    TM_CHECK(living_ == 0 && moving_.empty() && departing() == 0);
}

double SpillEngine::rate(std::size_t source, std::size_t target) const {
    return rates_[source * spaces_.size() + target];
}

bool SpillEngine::anybody_waits() const {
    return !moving_.empty() || waiting_accesses_ != 0 || !frees_.empty() || !parked_.empty() ||
           !reservations_.empty();
}

// The table.

SpillBuffer* SpillEngine::find(BufferRef ref) {
    if (to_integer(ref.id) >= buffers_.size())
        return nullptr;
    SpillBuffer& buffer = buffers_[to_integer(ref.id)];
    return buffer.living && buffer.generation == ref.generation ? &buffer : nullptr;
}

const SpillBuffer* SpillEngine::find(BufferRef ref) const {
    return const_cast<SpillEngine*>(this)->find(ref);
}

BufferRef SpillEngine::ref_of(std::uint32_t id) const {
    return {BufferId{id}, buffers_[id].generation};
}

std::size_t SpillEngine::position(SpaceId space) const {
    const auto& all = machine_.spaces;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const SpaceSpec& s) { return s.id == space; });
    return found == all.end() ? kNoSpace : static_cast<std::size_t>(found - all.begin());
}

std::uint32_t SpillEngine::new_buffer(const BufferSpec& spec) {
    if (free_ids_.empty()) {
        free_ids_.push_back(static_cast<std::uint32_t>(buffers_.size()));
        buffers_.emplace_back();
    }
    const std::uint32_t id = free_ids_.back();
    free_ids_.pop_back();
    SpillBuffer& buffer = buffers_[id];
    ++buffer.generation;
    buffer.living = true;
    buffer.doomed = false;
    buffer.ended = false;
    buffer.barred = false;
    buffer.blank = spec.blank;
    buffer.ahead = false;
    buffer.touched = 0;
    buffer.home = position(spec.space);
    buffer.reservation = spec.reservation;
    buffer.may_spill = spec.may_spill;
    buffer.hint = spec.hint;
    buffer.size = spec.size;
    buffer.next_use = kUnknownUse;
    buffer.representation = spec.representation;
    buffer.stored_from = spec.stored_from;
    buffer.creation = RequestId::none;
    buffer.evicted_from = 0;
    ++living_;
    spaces_[buffer.home].live += spec.size;
    if (options_.forecast)
        options_.forecast->allocated(BufferId{id}, spec.size, spec.tag);
    return id;
}

// The program is done with it, though a copy may have yet to end.
void SpillEngine::end_life(std::uint32_t id) {
    SpillBuffer& buffer = buffers_[id];
    if (std::exchange(buffer.ended, true))
        return;
    if (options_.forecast)
        options_.forecast->freed(BufferId{id});
    spaces_[buffer.home].live -= buffer.size;
}

void SpillEngine::end_buffer(std::uint32_t id) {
    SpillBuffer& buffer = buffers_[id];
    TM_CHECK(!buffer.move && buffer.waiting.empty());
    end_life(id);
    while (!buffer.copies.empty())
        drop_copy(id, buffer.copies.back().space, Departure::freed, RequestId::none);
    for (std::size_t i = 0; i < spaces_.size(); ++i)
        if ((buffer.evicted_from & space_bit(i)) != 0 && spaces_[i].policy)
            spaces_[i].policy->forget(BufferId{id});
    forget_gone(id);
    buffer.uses.clear();
    buffer.representation.reset();
    buffer.living = false;
    --living_;
    free_ids_.push_back(id);
    changed_ = true;
}

void SpillEngine::refuse(RequestId request, StoreError error) {
    SpillAnswer answer;
    answer.request = request;
    answer.refusal = std::move(error);
    work_.answers.push_back(std::move(answer));
}

// The program's requests.

RequestId SpillEngine::create(const BufferSpec& spec) {
    const RequestId request{++requests_};
    std::vector<std::size_t> targets{position(spec.space)};
    for (const SpaceId other : spec.otherwise)
        targets.push_back(position(other));
    const auto unusable = [&](std::size_t target) {
        return target == kNoSpace ||
               (spec.representation && machine_.spaces[target].id.tier >= spec.stored_from);
    };
    if (closing_) {
        refuse(request, {StoreFault::shut_down, {}});
        return request;
    }
    if (spec.size == 0 || spec.size >= kLargestRequest ||
        std::any_of(targets.begin(), targets.end(), unusable)) {
        refuse(request, {StoreFault::unsupported,
                         {ErrorCode::bad_option, "a buffer of that size can't begin there",
                          to_text(spec.space), "spaces of the machine, where it isn't encoded"}});
        return request;
    }
    unbar();
    const std::uint32_t id = new_buffer(spec);
    moved_on_ = options_.prefetch;
    buffers_[id].creation = request;
    BufferMove move;
    move.kind = MoveKind::create;
    move.target = targets.front();
    move.others.assign(targets.begin() + 1, targets.end());
    move.patient = spec.patient;
    move.reservation = spec.reservation;
    begin_move(id, std::move(move));
    return request;
}

BufferRef SpillEngine::found(const BufferSpec& spec) {
    TM_CHECK(position(spec.space) != kNoSpace && spec.size != 0 && !closing_);
    const std::uint32_t id = new_buffer(spec);
    buffers_[id].blank = true;
    return ref_of(id);
}

BufferRef SpillEngine::adopt(const BufferSpec& spec, const Place& place) {
    const std::size_t space = position(place.space);
    TM_CHECK(space != kNoSpace && spec.size != 0 && !closing_);
    BufferSpec there = spec;
    there.space = place.space;
    there.blank = false;
    const std::uint32_t id = new_buffer(there);
    BufferCopy copy;
    copy.space = space;
    copy.place = place;
    copy.stored = spec.size;
    copy.owned = false;
    add_copy(id, std::move(copy));
    return ref_of(id);
}

Outcome<void> SpillEngine::destroy(BufferRef ref) {
    SpillBuffer* buffer = find(ref);
    if (!buffer || buffer->doomed)
        return tl::make_unexpected(StoreError{StoreFault::not_found, {}});
    for (const BufferCopy& copy : buffer->copies)
        if (copy.users != 0)
            return tl::make_unexpected(StoreError{
                StoreFault::in_use,
                {ErrorCode::bad_input, "the buffer is in use", to_text(copy.place.space), ""}});
    buffer->doomed = true;
    let_go_ = let_go_ || !parked_.empty();
    while (!buffer->waiting.empty())
        fail_first(to_integer(ref.id), {StoreFault::not_found, {}});
    end_life(to_integer(ref.id));
    if (!buffer->move || cancel_move(to_integer(ref.id)))
        end_buffer(to_integer(ref.id));
    return {};
}

bool SpillEngine::set_hint(BufferRef ref, std::int32_t hint) {
    SpillBuffer* buffer = find(ref);
    if (!buffer)
        return false;
    const std::uint32_t id = to_integer(ref.id);
    const std::size_t gone = buffer->gone_from;
    forget_gone(id);
    buffer->hint = hint;
    if (gone != kNoSpace)
        note_gone(id, gone);
    revise(id);
    return true;
}

bool SpillEngine::set_next_use(BufferRef ref, std::uint64_t operation) {
    SpillBuffer* buffer = find(ref);
    if (!buffer)
        return false;
    buffer->next_use = operation > operations_ ? operation : kUnknownUse;
    revise(to_integer(ref.id));
    return true;
}

bool SpillEngine::set_may_spill(BufferRef ref, bool may_spill) {
    SpillBuffer* buffer = find(ref);
    if (!buffer)
        return false;
    buffer->may_spill = may_spill;
    let_go_ = true;
    const bool spilling = buffer->move && buffer->move->kind == MoveKind::spill;
    if (!may_spill && spilling)
        stay(*buffer->move);
    changed_ = true;
    return true;
}

bool SpillEngine::evict(BufferRef ref, SpaceId id) {
    const std::size_t space = position(id);
    if (!find(ref) || space == kNoSpace || closing_ || !may_leave(space, to_integer(ref.id)))
        return false;
    leave(to_integer(ref.id), space, RequestId::none);
    return true;
}

void SpillEngine::mark(std::uint64_t name_hash) {
    if (options_.forecast)
        options_.forecast->marked(name_hash);
}

void SpillEngine::unbar() {
    for (const std::uint32_t id : barred_)
        buffers_[id].barred = false;
    barred_.clear();
}

// Deciding.

void SpillEngine::schedule(bool stirred) {
    stirred_ = stirred_ || stirred;
    if (stirred && !parked_.empty())
        look_outside();
    bool looked = !(options_.prefetch && (moved_on_ || room_came_)) || closing_;
    do {
        if (std::exchange(stirred_, false))
            line_up_parked();
        if (std::exchange(let_go_, false))
            tries_left_ = parked_.size();
        enter_parked();
        changed_ = false;
        serve_reservations();
        for (std::size_t i = 0; i < spaces_.size(); ++i) {
            serve_frees(i);
            serve_line(i);
            if (!closing_) {
                spill_in_background(i);
                upgrade(i);
            }
        }
        for (std::size_t i = 0; !changed_ && !looked && i < spaces_.size(); ++i)
            if (spaces_[i].memory->id().tier == Tier::gpu)
                look_ahead(i);
        looked = looked || changed_;
    } while (changed_ || stirred_ || let_go_);
    moved_on_ = room_came_ = false;
}

void SpillEngine::take_work(SpillWork& done) {
    done.clear();
    std::swap(work_, done);
}

std::vector<SpillAnswer> SpillEngine::take_answers() {
    return std::exchange(work_.answers, {});
}

void SpillEngine::shut_down() {
    closing_ = true;
    for (std::uint32_t id = 0; id < buffers_.size(); ++id) {
        if (!buffers_[id].living)
            continue;
        while (!buffers_[id].waiting.empty())
            fail_first(id, {StoreFault::shut_down, {}});
        if (buffers_[id].creation != RequestId::none) {
            refuse(std::exchange(buffers_[id].creation, RequestId::none),
                   {StoreFault::shut_down, {}});
            buffers_[id].doomed = true;
        }
        if (buffers_[id].move && cancel_move(id) && buffers_[id].doomed)
            end_buffer(id);
    }
    for (FreeRequest& request : frees_) {
        SpillAnswer answer;
        answer.request = request.request;
        answer.freed = request.report;
        answer.freed.end = FreeEnd::shut_down;
        work_.answers.push_back(std::move(answer));
    }
    frees_.clear();
    while (!parked_.empty())
        fail_group(parked_.front(), {StoreFault::shut_down, {}});
    while (!reservations_.empty())
        refuse_reservation(0, {StoreFault::shut_down, {}});
}

// Whether others than this engine gave memory of the spaces back: a reservation's end, say.
void SpillEngine::look_outside() {
    for (SpillSpace& space : spaces_) {
        const Bytes used = space.memory->used();
        const Bytes outside = used - std::min(used, space.charged);
        let_go_ = let_go_ || outside < space.outside;
        space.outside = outside;
    }
}

bool SpillEngine::give_up_one() {
    if (!parked_.empty()) {
        // With everybody else out of its way it may fit.
        trying_ = parked_.front();
        parked_.erase(parked_.begin());
        groups_[trying_].parked = false;
        groups_[trying_].spec.patient = false;
        enter(trying_);
        return true;
    }
    if (!reservations_.empty()) {
        std::optional<RequestId> first;
        reserving_.for_each([&](RequestId request, const WaitStanding&) {
            if (!first)
                first = request;
        });
        const auto waiting = std::find_if(reservations_.begin(), reservations_.end(),
                                          [&](const auto& one) { return one.request == *first; });
        refuse_reservation(static_cast<std::size_t>(waiting - reservations_.begin()),
                           {StoreFault::no_room,
                            {ErrorCode::no_space, "nobody gives back what it waits for",
                             to_text(waiting->wish.spaces.front()), ""}});
        return true;
    }
    for (SpillSpace& space : spaces_) {
        while (!space.parked.empty()) {
            const LineEntry first = space.parked.front();
            space.parked.pop_front();
            const SpillBuffer& buffer = buffers_[first.buffer];
            if (!buffer.living || !buffer.move || buffer.move->serial != first.serial)
                continue;
            no_room_for(first.buffer, *space.memory);
            return true;
        }
    }
    return false;
}

void SpillEngine::end_all() {
    TM_CHECK(closing_ && moving_.empty());
    for (std::uint32_t id = 0; id < buffers_.size(); ++id)
        if (buffers_[id].living)
            end_buffer(id);
}

std::vector<WaitingDeparture> SpillEngine::waiting_departures() const {
    std::vector<WaitingDeparture> waiting;
    for (const std::uint64_t id : waiting_departures_)
        waiting.push_back({id, departures_[id].after});
    return waiting;
}

void SpillEngine::passed(std::uint64_t id) {
    PlaceDeparture& departure = departures_[id];
    departure.waiting = false;
    std::erase(waiting_departures_, id);
    let_leave(departure);
}

void SpillEngine::left(std::uint64_t id, Bytes freed) {
    PlaceDeparture& departure = departures_[id];
    TM_CHECK(departure.living && !departure.waiting);
    note_left(departure.space, departure.claim, departure.credit);
    spaces_[departure.space].charged -= departure.charge.size;
    if (departure.claim != RequestId::none)
        for (FreeRequest& request : frees_)
            if (request.request == departure.claim)
                request.report.freed += freed;
    for (const std::uint32_t mover : moving_) {
        BufferMove& move = *buffers_[mover].move;
        const bool owed = departure.place && move.stage == MoveStage::lining;
        if (owed && move.target == departure.space)
            move.owed -= std::min(move.owed, freed);
    }
    departure.living = false;
    free_departures_.push_back(id);
    room_came_ = room_came_ || spaces_[departure.space].ahead.short_of_room;
    changed_ = true;
    stirred_ = stirred_ || anybody_waits();
}

// Figures.

const SpillCounters& SpillEngine::counters(SpaceId space) const {
    return spaces_[position(space)].counters;
}

bool SpillEngine::idle() const {
    return departing() == 0 && !anybody_waits();
}

std::size_t SpillEngine::in_flight() const {
    return static_cast<std::size_t>(std::count_if(
        moving_.begin(), moving_.end(),
        [&](std::uint32_t id) { return buffers_[id].move->stage != MoveStage::lining; }));
}

std::vector<SpaceId> SpillEngine::where(BufferRef ref) const {
    std::vector<SpaceId> spaces;
    if (const SpillBuffer* buffer = find(ref))
        for (const BufferCopy& copy : buffer->copies)
            if (!copy.hollow)
                spaces.push_back(machine_.spaces[copy.space].id);
    return spaces;
}

bool SpillEngine::resident(BufferRef ref, SpaceId space) const {
    const SpillBuffer* buffer = find(ref);
    return buffer && buffer->copy_in(position(space));
}

Bytes SpillEngine::reclaimable(BufferRef ref, SpaceId space) const {
    const SpillBuffer* buffer = find(ref);
    const BufferCopy* copy = buffer ? buffer->copy_in(position(space)) : nullptr;
    return copy ? credit(*copy) : 0;
}

}  // namespace tidemark
