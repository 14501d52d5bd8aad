// The engine's table of buffers, what the program asks of it, and its shell's turn.
#include "core/tiers/spill_engine.h"

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

// What victims of `source` may be copied to: slower spaces with a link there, by tier, then the
// fastest link.
std::vector<std::size_t> slower_spaces(const MachineSpec& machine, std::size_t source) {
    const SpaceId from = machine.spaces[source].id;
    std::vector<std::size_t> slower;
    for (std::size_t i = 0; i < machine.spaces.size(); ++i)
        if (machine.spaces[i].id.tier > from.tier && machine.link(from, machine.spaces[i].id))
            slower.push_back(i);
    std::stable_sort(slower.begin(), slower.end(), [&](std::size_t a, std::size_t b) {
        const SpaceId first = machine.spaces[a].id;
        const SpaceId second = machine.spaces[b].id;
        if (first.tier != second.tier)
            return first.tier < second.tier;
        return machine.link(from, first)->bytes_per_second >
               machine.link(from, second)->bytes_per_second;
    });
    return slower;
}

double ns_per_byte(const LinkSpec* link) {
    return link ? 1e9 / link->bytes_per_second : 0;
}

}  // namespace

SpillEngine::SpillEngine(const MachineSpec& machine, std::span<MemorySpace* const> spaces,
                         SpillOptions options)
    : machine_(machine), options_(std::move(options)), spaces_(spaces.size()) {
    TM_CHECK(spaces.size() == machine.spaces.size() && spaces.size() <= kMaskedSpaces);
    for (std::size_t i = 0; i < spaces.size(); ++i) {
        TM_CHECK(spaces[i]->id() == machine.spaces[i].id);
        SpillSpace& space = spaces_[i];
        space.memory = spaces[i];
        space.slower = slower_spaces(machine, i);
        space.residents = std::make_unique<SpaceResidents>(*this, i);
        if (space.slower.empty())
            continue;
        const SpaceId below = machine.spaces[space.slower.front()].id;
        const VictimContext context{
            .residents = space.residents.get(),
            .capacity = machine.spaces[i].capacity,
            .out_ns_per_byte = ns_per_byte(machine.link(machine.spaces[i].id, below)),
            .in_ns_per_byte = ns_per_byte(machine.link(below, machine.spaces[i].id))};
        space.policy = options_.victims.policy->make(context, options_.victims.options);
    }
}

SpillEngine::~SpillEngine() {
    TM_CHECK(living_ == 0 && moving_.empty() && departures_.empty());
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
    buffer.barred = false;
    buffer.may_spill = spec.may_spill;
    buffer.hint = spec.hint;
    buffer.size = spec.size;
    buffer.next_use = kUnknownUse;
    buffer.representation = spec.representation;
    buffer.stored_from = spec.stored_from;
    buffer.creation = RequestId::none;
    buffer.evicted_from = 0;
    ++living_;
    return id;
}

void SpillEngine::end_buffer(std::uint32_t id) {
    SpillBuffer& buffer = buffers_[id];
    TM_CHECK(!buffer.move && buffer.waiting.empty());
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

BufferRef SpillEngine::adopt(const BufferSpec& spec, const Place& place) {
    const std::size_t space = position(place.space);
    TM_CHECK(space != kNoSpace && spec.size != 0 && !closing_);
    const std::uint32_t id = new_buffer(spec);
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
    while (!buffer->waiting.empty())
        fail_first(to_integer(ref.id), {StoreFault::not_found, {}});
    buffer->doomed = true;
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
    const bool spilling = buffer->move && buffer->move->kind == MoveKind::spill;
    if (!may_spill && spilling)
        buffer->move->evict = false;
    changed_ = true;
    return true;
}

void SpillEngine::unbar() {
    for (const std::uint32_t id : barred_)
        buffers_[id].barred = false;
    barred_.clear();
}

// Deciding.

void SpillEngine::schedule(bool stirred) {
    if (stirred) {
        for (SpillSpace& space : spaces_) {
            space.line.insert(space.line.begin(), space.parked.begin(), space.parked.end());
            space.parked.clear();
        }
    }
    do {
        changed_ = false;
        for (std::size_t i = 0; i < spaces_.size(); ++i) {
            serve_frees(i);
            serve_line(i);
            if (!closing_) {
                spill_in_background(i);
                upgrade(i);
            }
        }
    } while (changed_);
}

SpillWork SpillEngine::take_work() {
    return std::exchange(work_, {});
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
}

void SpillEngine::end_all() {
    TM_CHECK(closing_ && moving_.empty());
    for (std::uint32_t id = 0; id < buffers_.size(); ++id)
        if (buffers_[id].living)
            end_buffer(id);
}

std::vector<WaitingDeparture> SpillEngine::waiting_departures() const {
    std::vector<WaitingDeparture> waiting;
    for (const auto& [id, departure] : departures_)
        if (departure.waiting)
            waiting.push_back({id, departure.after});
    return waiting;
}

void SpillEngine::passed(std::uint64_t id) {
    PlaceDeparture& departure = departures_.at(id);
    departure.waiting = false;
    work_.leaving.push_back({id, departure.place, departure.charge});
}

void SpillEngine::left(std::uint64_t id, Bytes freed) {
    const auto found = departures_.find(id);
    TM_CHECK(found != departures_.end());
    const PlaceDeparture& departure = found->second;
    for (FreeRequest& request : frees_)
        if (request.request == departure.claim)
            request.report.freed += freed;
    for (const std::uint32_t mover : moving_) {
        BufferMove& move = *buffers_[mover].move;
        const bool owed = departure.place && move.stage == MoveStage::lining;
        if (owed && move.target == departure.space)
            move.owed -= std::min(move.owed, freed);
    }
    departures_.erase(found);
    changed_ = true;
}

// Figures.

const SpillCounters& SpillEngine::counters(SpaceId space) const {
    return spaces_[position(space)].counters;
}

bool SpillEngine::idle() const {
    return moving_.empty() && departures_.empty() && frees_.empty() && waiting_accesses_ == 0;
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
            spaces.push_back(machine_.spaces[copy.space].id);
    return spaces;
}

Bytes SpillEngine::reclaimable(BufferRef ref, SpaceId space) const {
    const SpillBuffer* buffer = find(ref);
    const BufferCopy* copy = buffer ? buffer->copy_in(position(space)) : nullptr;
    return copy ? credit(*copy) : 0;
}

}  // namespace tidemark
