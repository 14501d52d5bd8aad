// One step of the record after another, and what explains it.
#include "replay/record/device_replay.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

// Streams of our own begin here: far above those of any trace.
constexpr std::uint32_t kFirstAwaited = 0x40000000U;

DeviceCall call_of(EventKind kind) {
    switch (kind) {
        case EventKind::segment_alloc:
            return DeviceCall::malloc;
        case EventKind::segment_free:
            return DeviceCall::free;
        case EventKind::segment_map:
            return DeviceCall::set_access;
        default:
            return DeviceCall::unmap;
    }
}

ScriptedDevice::Call call_of(const TraceEvent& event) {
    return {call_of(event.kind), {Address{event.address}, event.size}};
}

bool is_before(const ScriptedDevice::Call& a, const ScriptedDevice::Call& b) {
    return a.call != b.call ? a.call < b.call : a.range.begin < b.range.begin;
}

}  // namespace

DeviceReplay::Model& DeviceReplay::Model::operator=(Model&& other) noexcept {
    allocator = std::move(other.allocator);
    own = std::move(other.own);
    device = other.device;
    switched = other.switched;
    return *this;
}

DeviceReplay::Model DeviceReplay::Model::copy() const {
    Model twin;
    twin.own = std::make_unique<ScriptedDevice>(*device);
    twin.device = twin.own.get();
    twin.allocator = allocator->clone(*twin.device);
    twin.switched = switched;
    return twin;
}

Result<DeviceReplay> DeviceReplay::make(const DeviceRecord& record, const ModelSpec& spec,
                                        Setup setup) {
    DeviceReplay replay(record, spec, setup);
    replay.model_.own = std::make_unique<ScriptedDevice>(spec.capacity);
    replay.model_.device = replay.model_.own.get();
    TM_ASSIGN(replay.model_.allocator, spec.policy.make(*replay.model_.device));
    if (replay.model_.allocator->clone(*replay.model_.device) == nullptr)
        return fail(ErrorCode::unsupported, "this policy cannot be copied in mid-run",
                    std::string(spec.policy.policy->name));
    TM_TRY(replay.restore());
    return replay;
}

Result<DeviceReplay> DeviceReplay::follow(const DeviceRecord& record, const ModelSpec& spec,
                                          Setup setup, const Findings& found,
                                          ScriptedDevice& device, Device& face) {
    DeviceReplay replay(record, spec, setup);
    replay.follows_ = true;
    replay.script_ = found.adopted;
    replay.findings_.chosen = found.chosen;
    replay.model_.device = &device;
    TM_ASSIGN(replay.model_.allocator, spec.policy.make(face));
    TM_TRY(replay.restore());
    return replay;
}

DeviceReplay DeviceReplay::copy() const {
    DeviceReplay twin(*record_, *spec_, setup_);
    twin.model_ = model_.copy();
    twin.live_ = live_;
    twin.awaited_ = awaited_;
    twin.position_ = position_;
    twin.completions_ = completions_;
    twin.segments_ = segments_;
    twin.releases_ = releases_;
    twin.switched_ = switched_;
    twin.last_pool_ = last_pool_;
    twin.held_ = held_;
    twin.findings_ = findings_;
    twin.answer_ = answer_;
    twin.ended_ = ended_;
    return twin;
}

Result<void> DeviceReplay::restore() {
    if (record_->seeds.empty())
        return {};
    for (const SeedSegment& seed : record_->seeds) {
        if (seed.expandable)
            model_.device->hold_pages(seed.range.size);
        else
            model_.device->hold(seed.range);
        Held& held = held_[seed.expandable ? seed.reserved : seed.range.begin];
        held.end = std::max(held.end, seed.range.begin + seed.range.size);
        held.mapped += seed.range.size;
        held.pool = seed.pool;
    }
    TM_ASSIGN(const std::vector<Allocation> live, model_.allocator->restore(record_->seeds));
    for (std::size_t i = 0; i < live.size(); ++i)
        live_[record_->seed_slots[i]] = {live[i], true, {}};
    keep_peaks();
    return {};
}

DeviceReplay::Live* DeviceReplay::live(std::uint32_t slot) {
    return slot < live_.size() && live_[slot].granted ? &live_[slot] : nullptr;
}

std::uint64_t DeviceReplay::step() {
    const TraceEvent& now = event(position_);
    std::uint64_t different = 0;
    copies_ = 0;
    switch (now.kind) {
        case EventKind::segment_free:
        case EventKind::segment_unmap:
            releases_ = true;
            [[fallthrough]];
        case EventKind::segment_alloc:
        case EventKind::segment_map:
            segments_.push_back(position_);
            break;
        case EventKind::finish:
            add_completion();
            break;
        case EventKind::free:
            different = flush();
            add_completion();
            break;
        case EventKind::retire:
            different = flush();
            let_go();
            break;
        default:
            different = request();
            break;
    }
    ++position_;
    return different;
}

std::uint64_t DeviceReplay::finish() {
    std::uint64_t different = flush();
    if (!record_->final_segments.empty() || !record_->final_blocks.empty())
        different += compare_end();
    return different;
}

// Of an allocation that lives, and that nothing before has ended.
void DeviceReplay::add_completion() {
    const std::uint32_t slot = event(position_).slot;
    const bool ended = std::any_of(completions_.begin(), completions_.end(),
                                   [&](std::size_t step) { return event(step).slot == slot; });
    const Live* const live = this->live(slot);
    if (live == nullptr || ended)
        return;
    completions_.push_back(position_);
    ended_.active += live->allocation.size;
    if (event(position_).kind == EventKind::free && !live->allocation.retired)
        ended_.allocated += live->allocation.size;
}

Usage DeviceReplay::usage() const {
    Usage now = model_.allocator->usage();
    now.allocated -= std::min(now.allocated, ended_.allocated);
    now.active -= std::min(now.active, ended_.active);
    return now;
}

// A free whose end is recorded later: until then a stream of our own uses the memory.
void DeviceReplay::let_go() {
    Live* const live = this->live(event(position_).slot);
    if (live == nullptr || live->awaited != StreamId{})
        return;
    live->awaited = StreamId{kFirstAwaited + awaited_++};
    model_.device->await(live->awaited);
    model_.allocator->record_use(live->allocation, live->awaited);
    model_.allocator->deallocate(live->allocation, live->awaited);
}

// The end of a free. Memory that was waiting when the trace began waits for nothing but this.
void DeviceReplay::complete(Model& model, std::size_t step) {
    const Live* const live = this->live(event(step).slot);
    if (live == nullptr)
        return;
    if (live->awaited != StreamId{})
        model.device->finish(live->awaited);
    else
        model.allocator->deallocate(live->allocation, event(step).stream);
}

// A free that was complete at once, taken for one that waited: `stream` is what it waits for.
void DeviceReplay::await_free(Model& model, std::size_t step, StreamId stream) {
    const Live* const live = this->live(event(step).slot);
    if (live == nullptr || live->awaited != StreamId{})
        return;
    model.device->await(stream);
    model.allocator->record_use(live->allocation, stream);
    model.allocator->deallocate(live->allocation, stream);
}

std::uint64_t DeviceReplay::request() {
    const TraceEvent& now = event(position_);
    const bool plain = now.kind == EventKind::allocate && !releases_ && !setup_.infers_switches &&
                       (completions_.empty() || segments_.empty());
    if (!plain) {
        Attempt best = chosen_attempt(&now);
        if (!follows_ && setup_.infers_switches && best.differences == 0 && segments_.empty())
            fork(best, now);
        return adopt(std::move(best), &now);
    }
    Explanation explanation;
    explanation.completed = completions_.size();
    explanation.switched = model_.switched;
    explanation.pool = pool_of(now);
    return adopt(attempt(std::move(model_), explanation, &now), &now);
}

// Completions and releases that no request followed: if there are releases the program emptied the
// caches, or a pool ended.
std::uint64_t DeviceReplay::flush() {
    if (!segments_.empty())
        return adopt(chosen_attempt(nullptr), nullptr);
    const bool waited = std::any_of(completions_.begin(), completions_.end(), [this](auto step) {
        return event(step).kind == EventKind::finish;
    });
    if (follows_) {
        if (adopted_here() != nullptr)
            return adopt(chosen_attempt(nullptr), nullptr);
    } else if (waited) {
        // Somebody noticed that the device was done, and released nothing.
        Explanation emptied;
        emptied.completed = completions_.size();
        emptied.emptied = true;
        emptied.switched = model_.switched;
        Attempt noticed = attempt(model_.copy(), emptied, nullptr);
        if (noticed.differences == 0) {
            note(emptied);
            return adopt(std::move(noticed), nullptr);
        }
    }
    for (const std::size_t step : completions_) {
        complete(model_, step);
        if (Live* const live = this->live(event(step).slot))
            *live = {};
    }
    completions_.clear();
    ended_ = {};
    return 0;
}

DeviceReplay::Attempt DeviceReplay::attempt(Model model, const Explanation& explanation,
                                            const TraceEvent* request) {
    Attempt result;
    result.model = std::move(model);
    result.explanation = explanation;
    perform(result, request);
    result.differences += differences(result, request);
    return result;
}

void DeviceReplay::perform(Attempt& attempt, const TraceEvent* request) {
    Model& model = attempt.model;
    const Explanation& how = attempt.explanation;
    for (std::size_t i = 0; i < completions_.size(); ++i) {
        const bool late = i >= how.completed;
        if (!late)
            complete(model, completions_[i]);
        else
            await_free(model, completions_[i], late_stream(i));
    }
    if (!segments_.empty() || how.device_full || model.device->has_script())
        model.device->play(script(), how.device_full);
    if (how.switched != model.switched && spec_->switched) {
        const PolicySpec& spec = how.switched ? *spec_->switched : spec_->policy;
        static_cast<void>(model.allocator->reconfigure(spec.options));
        model.switched = how.switched;
    }
    const std::size_t awaited = model.device->awaited_count();
    if (releases_)
        give_back(model, how, request);
    else if (how.emptied)
        model.allocator->trim(TrimLevel::all);
    if (request != nullptr) {
        const bool whole = record_->whole_pools.count(how.pool) != 0;
        const PoolId scope = how.in_scope ? kForeignScope : how.pool;
        if (how.in_scope || whole)
            model.allocator->begin_pool(scope, {.splits = !whole});
        attempt.granted = model.allocator->allocate(
            {.size = request->size, .alignment = 1, .stream = request->stream, .pool = how.pool});
        if (how.in_scope || whole)
            model.allocator->end_pool(scope);
    }
    attempt.calls.assign(model.device->log().begin(), model.device->log().end());
    attempt.differences += check_waits(attempt, awaited);
}

// What a late completion waits for: its own stream, or one that attempt() makes up.
StreamId DeviceReplay::late_stream(std::size_t completion) const {
    const TraceEvent& end = event(completions_[completion]);
    const bool waits = end.slot < live_.size() && live_[end.slot].awaited != StreamId{};
    return waits ? live_[end.slot].awaited
                 : StreamId{kFirstAwaited + awaited_ + static_cast<std::uint32_t>(completion)};
}

// A wait completes everything: exactly the late completions must have been left, or none.
std::uint64_t DeviceReplay::check_waits(Attempt& attempt, std::size_t awaited_before) {
    ScriptedDevice& device = *attempt.model.device;
    const std::size_t waited_for = awaited_before - device.awaited_count();
    std::uint64_t different = 0;
    std::size_t expected = 0;
    for (std::size_t i = attempt.explanation.completed; i < completions_.size(); ++i) {
        ++expected;
        different += device.is_awaited(late_stream(i)) ? 1U : 0U;
        device.finish(late_stream(i));
    }
    return different + (waited_for > expected ? waited_for - expected : 0);
}

std::vector<ScriptedDevice::Call> DeviceReplay::script() const {
    std::vector<ScriptedDevice::Call> calls;
    for (const std::size_t step : segments_)
        calls.push_back(call_of(event(step)));
    return calls;
}

void DeviceReplay::give_back(Model& model, const Explanation& how,
                             const TraceEvent* request) const {
    for (const PoolId pool : ended_pools()) {
        if (request != nullptr && how.pool == pool)
            continue;
        model.allocator->close_pool(pool);
        if (how.pool_ended)
            model.allocator->trim_pool(pool);
    }
    if (how.emptied)
        model.allocator->trim(TrimLevel::all);
}

// How often the attempt and the record part: the segment entries, in order, and the outcome.
std::uint64_t DeviceReplay::differences(const Attempt& attempt, const TraceEvent* request) const {
    std::uint64_t count = 0;
    const std::size_t longer = std::max(segments_.size(), attempt.calls.size());
    for (std::size_t i = 0; i < longer; ++i) {
        const bool same = i < segments_.size() && i < attempt.calls.size() &&
                          call_of(event(segments_[i])) == attempt.calls[i];
        count += same ? 0U : 1U;
    }
    if (count != 0 && releases_ && ended_pools().size() > 1)
        count = unordered_differences(attempt.calls);
    if (request == nullptr)
        return count;
    return count + (granted_as_recorded(attempt, *request) ? 0 : 1);
}

// The same without order: in which order PyTorch gives several pools back, a hash table decides.
std::uint64_t DeviceReplay::unordered_differences(std::vector<ScriptedDevice::Call> calls) const {
    std::vector<ScriptedDevice::Call> recorded;
    for (const std::size_t step : segments_)
        recorded.push_back(call_of(event(step)));
    std::sort(recorded.begin(), recorded.end(), is_before);
    std::sort(calls.begin(), calls.end(), is_before);
    std::vector<ScriptedDevice::Call> missing;
    std::set_symmetric_difference(recorded.begin(), recorded.end(), calls.begin(), calls.end(),
                                  std::back_inserter(missing), is_before);
    return missing.size();
}

bool DeviceReplay::granted_as_recorded(const Attempt& attempt, const TraceEvent& request) {
    const auto& granted = *attempt.granted;
    if (request.kind == EventKind::out_of_memory)
        return !granted;
    return granted && to_integer(granted->address) == request.address;
}

// Takes an attempt for what happened.
std::uint64_t DeviceReplay::adopt(Attempt attempt, const TraceEvent* request) {
    model_ = std::move(attempt.model);
    findings_.decisions += segments_.size() + (request != nullptr ? 1 : 0);
    findings_.mismatches += attempt.differences;
    if (attempt.differences != 0) {
        explain(attempt, request);
        find_suspects(attempt);
    }
    note_facts(attempt.explanation);
    for (const std::size_t step : completions_) {
        if (Live* const done = live(event(step).slot))
            *done = {};
    }
    awaited_ += static_cast<std::uint32_t>(completions_.size());
    if (request != nullptr && attempt.granted->has_value()) {
        Allocation& allocation = **attempt.granted;
        if (request->kind != EventKind::allocate || request->slot >= live_.size()) {
            model_.allocator->deallocate(allocation, request->stream);
        } else {
            if (const Live* const older = live(request->slot);
                older && older->awaited == StreamId{})
                model_.allocator->deallocate(older->allocation, request->stream);
            live_[request->slot] = {allocation, true, {}};
            last_pool_ = attempt.explanation.pool;
        }
    }
    if (setup_.infers_pools || setup_.infers_switches) {
        for (const std::size_t step : segments_)
            follow_segment(step);
    }
    completions_.clear();
    ended_ = {};
    segments_.clear();
    releases_ = false;
    if (request != nullptr)
        answer_ = attempt.granted;
    keep_peaks();
    return attempt.differences;
}

void DeviceReplay::note_facts(const Explanation& how) {
    const std::size_t at = segments_.empty() ? position_ : segments_.front();
    const std::size_t begin = std::min(at, record_->steps.size() - 1);
    InferredFact fact;
    fact.device = event(begin).device;
    fact.event = record_->steps[begin].index;
    const auto note = [this, &fact](InferredFact::Kind kind) {
        fact.kind = kind;
        findings_.facts.push_back(fact);
    };
    if (how.switched != switched_) {
        switched_ = how.switched;
        note(InferredFact::Kind::switched_segments);
    }
    if (how.in_scope)
        note(InferredFact::Kind::refused_in_scope);
    if (how.device_full)
        note(InferredFact::Kind::device_full);
    if (how.completed < completions_.size()) {
        fact.count = completions_.size() - how.completed;
        note(InferredFact::Kind::late_completions);
    }
    if (releases_)
        note_releases(how);
}

// Pools end where the first of their segments goes back, caches are empty at the last entry.
void DeviceReplay::note_releases(const Explanation& how) {
    std::vector<PoolId> noted;
    std::size_t last = segments_.front();
    for (const std::size_t step : segments_) {
        if (!is_release(event(step).kind))
            continue;
        last = step;
        const Held* const held = held_at(Address{event(step).address});
        const PoolId pool = held != nullptr ? held->pool : PoolId::default_pool;
        const bool ends = setup_.infers_pools && pool != PoolId::default_pool && pool != how.pool;
        if (!ends || std::find(noted.begin(), noted.end(), pool) != noted.end())
            continue;
        noted.push_back(pool);
        findings_.facts.push_back({.kind = InferredFact::Kind::ended_pool,
                                   .device = event(step).device,
                                   .event = record_->steps[step].index,
                                   .pool = pool,
                                   .count = how.pool_ended ? 1U : 0U});
    }
    if (how.emptied)
        findings_.facts.push_back({.kind = InferredFact::Kind::emptied_caches,
                                   .device = event(last).device,
                                   .event = record_->steps[last].index});
}

void DeviceReplay::keep_peaks() {
    const Usage& now = model_.allocator->usage();
    Usage& peak = findings_.peak;
    peak.reserved = std::max(peak.reserved, now.reserved);
    peak.allocated = std::max(peak.allocated, now.allocated);
    peak.active = std::max(peak.active, now.active);
    peak.mapped = std::max(peak.mapped, now.mapped);
}

}  // namespace tidemark
