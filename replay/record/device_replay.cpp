// One step of the record after another, and what explains it.
#include "replay/record/device_replay.h"

#include <algorithm>

#include "core/base/check.h"

namespace tidemark {
namespace {

// A replay with this many differences cannot be right: then the first explanation is good enough.
constexpr std::uint64_t kHopeless = 300;

// A pool of the driver's begins with the first allocation.
void add_pool(const DeviceRecord& record, ScriptedDevice& device) {
    const auto first = std::ranges::find_if(record.steps, [](const RecordedStep& step) {
        return step.event.kind == EventKind::allocate && step.event.address != 0;
    });
    if (record.is_of_driver_pool() && first != record.steps.end())
        device.add_pool(Address{first->event.address / DriverPool::kChunk * DriverPool::kChunk});
}

}  // namespace

DeviceReplay::DeviceReplay(const DeviceRecord& record, const ModelSpec& spec, Hypotheses hypotheses)
    : spec_(&spec),
      hypotheses_(hypotheses),
      cursor_(record),
      live_(record.slots),
      pools_(record, hypotheses.pools) {}

Result<DeviceReplay> DeviceReplay::make(const DeviceRecord& record, const ModelSpec& spec,
                                        Hypotheses hypotheses) {
    DeviceReplay replay(record, spec, hypotheses);
    AllocatorModel& model = replay.model_;
    model.own = std::make_unique<ScriptedDevice>(spec.capacity);
    model.device = model.own.get();
    add_pool(record, *model.device);
    TM_ASSIGN(model.allocator, spec.policy.make(*model.device));
    if (model.allocator->clone(*model.device) == nullptr)
        return fail(ErrorCode::unsupported, "this policy cannot be copied in the middle of a run",
                    std::string(spec.policy.policy->name));
    TM_TRY(replay.restore());
    return replay;
}

Result<DeviceReplay> DeviceReplay::follow(const DeviceRecord& record, const ModelSpec& spec,
                                          const DeviceFindings& found, ScriptedDevice& device,
                                          Device& face) {
    DeviceReplay replay(record, spec, found.hypotheses);
    replay.follows_ = true;
    replay.script_ = found.found.adopted;
    replay.pools_.choose_all(found.chosen);
    replay.model_.device = &device;
    add_pool(record, device);
    TM_ASSIGN(replay.model_.allocator, spec.policy.make(face));
    TM_TRY(replay.restore());
    return replay;
}

DeviceReplay DeviceReplay::copy() const {
    DeviceReplay twin(cursor_.record(), *spec_, hypotheses_);
    twin.cursor_ = cursor_;
    twin.model_ = model_.copy();
    twin.live_ = live_;
    twin.pools_ = pools_;
    twin.findings_ = findings_;
    twin.ended_ = ended_;
    twin.answer_ = answer_;
    return twin;
}

Result<void> DeviceReplay::restore() {
    const DeviceRecord& record = cursor_.record();
    if (record.seeds.empty())
        return {};
    for (const SeedSegment& seed : record.seeds) {
        if (seed.expandable)
            model_.device->hold_pages(seed.range.size);
        else
            model_.device->hold(seed.range);
        pools_.add_seed(seed);
    }
    TM_ASSIGN(const std::vector<Allocation> live, model_.allocator->restore(record.seeds));
    for (std::size_t i = 0; i < live.size(); ++i)
        live_.put_seed(record.seed_slots[i], live[i]);
    findings_.keep_peak(model_.allocator->usage());
    return {};
}

std::uint64_t DeviceReplay::step() {
    std::uint64_t different = 0;
    copies_ = 0;
    switch (cursor_.event().kind) {
        case EventKind::segment_free:
        case EventKind::segment_unmap:
        case EventKind::segment_alloc:
        case EventKind::segment_map:
            cursor_.add_segment();
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
            live_.retire(model_, cursor_.event().slot);
            break;
        case EventKind::synchronize:
            different = flush();
            synchronize();
            break;
        case EventKind::pool_held:
            different = flush();
            different += findings_.compare_held(cursor_, model_.device->pool_held(), allocator());
            break;
        default:
            different = request();
            break;
    }
    cursor_.advance();
    return different;
}

void DeviceReplay::synchronize() {
    const TraceEvent& now = cursor_.event();
    if ((now.flags & kWholeDevice) != 0)
        model_.device->synchronize_pool();
    else
        model_.device->synchronize_pool(now.stream);
}

std::uint64_t DeviceReplay::finish() {
    const DeviceRecord& record = cursor_.record();
    const std::uint64_t different = flush();
    if (record.final_segments.empty() && record.final_blocks.empty())
        return different;
    return different + findings_.compare_end(record, allocator());
}

// Of a live allocation that nothing before has ended.
void DeviceReplay::add_completion() {
    const TraceEvent& end = cursor_.event();
    const bool ended = std::ranges::any_of(cursor_.completions(), [&](std::size_t step) {
        return cursor_.event(step).slot == end.slot;
    });
    const Allocation* const live = live_.find(end.slot);
    if (live == nullptr || ended)
        return;
    cursor_.add_completion();
    ended_.active += live->size;
    if (end.kind == EventKind::free && !live->retired)
        ended_.allocated += live->size;
}

Usage DeviceReplay::usage() const {
    Usage now = model_.allocator->usage();
    now.allocated -= std::min(now.allocated, ended_.allocated);
    now.active -= std::min(now.active, ended_.active);
    return now;
}

std::uint64_t DeviceReplay::request() {
    const TraceEvent& now = cursor_.event();
    const Situation at = situation(&now);
    const bool plain = now.kind == EventKind::allocate && !cursor_.releases() &&
                       !hypotheses_.switches &&
                       (cursor_.completions().empty() || cursor_.segments().empty());
    if (plain) {
        const Explanation how{.completed = cursor_.completions().size(),
                              .switched = model_.switched,
                              .pool = pools_.pool_of_request(cursor_)};
        if (follows_ && cursor_.segments().empty() && !model_.device->has_script()) {
            follow_plain(at, how);
            return 0;
        }
        return adopt(attempt(at, std::move(model_), how), &now);
    }
    Attempt best = chosen_attempt(at);
    if (!follows_ && hypotheses_.switches && best.differences == 0 && cursor_.segments().empty())
        fork(best, now);
    return adopt(std::move(best), &now);
}

// Completions and releases that no request followed: if there are releases the program emptied the
// caches, or a pool ended.
std::uint64_t DeviceReplay::flush() {
    const Situation at = situation(nullptr);
    if (!cursor_.segments().empty() || (follows_ && adopted_here() != nullptr))
        return adopt(chosen_attempt(at), nullptr);
    const bool waited = std::ranges::any_of(cursor_.completions(), [this](std::size_t step) {
        return cursor_.event(step).kind == EventKind::finish;
    });
    if (!follows_ && waited) {
        // The allocator noticed that the device was done, and released nothing.
        const Explanation emptied{.completed = cursor_.completions().size(),
                                  .emptied = true,
                                  .switched = model_.switched};
        Attempt noticed = attempt(at, model_.copy(), emptied);
        if (noticed.differences == 0) {
            findings_.adopted.push_back({position(), emptied});
            return adopt(std::move(noticed), nullptr);
        }
    }
    for (const std::size_t step : cursor_.completions())
        live_.complete(model_, cursor_.event(step));
    clear_pending();
    return 0;
}

// What was adopted at this step when the record was gone through for the first time.
const Explanation* DeviceReplay::adopted_here() {
    while (!script_.empty() && script_.front().step < position())
        script_ = script_.subspan(1);
    const bool here = !script_.empty() && script_.front().step == position();
    return here ? &script_.front().how : nullptr;
}

Attempt DeviceReplay::chosen_attempt(const Situation& at) {
    if (!follows_) {
        Attempt best = best_attempt(at);
        findings_.adopted.push_back({position(), best.explanation});
        return best;
    }
    const Explanation* const how = adopted_here();
    TM_CHECK(how != nullptr);
    return attempt(at, std::move(model_), *how);
}

Attempt DeviceReplay::best_attempt(const Situation& at) {
    std::optional<Attempt> best;
    for (const Explanation& way : explanations(at, hypotheses_, model_.switched)) {
        ++copies_;
        Attempt next = attempt(at, model_.copy(), way);
        if (!best || next.differences < best->differences)
            best = std::move(next);
        if (best->differences == 0 || findings_.mismatches > kHopeless)
            break;
    }
    TM_CHECK(best.has_value());
    return std::move(*best);
}

// Takes an attempt for what happened.
std::uint64_t DeviceReplay::adopt(Attempt attempt, const TraceEvent* request) {
    model_ = std::move(attempt.model);
    findings_.add(situation(request), attempt, allocator());
    if (attempt.differences != 0)
        find_suspects(attempt);
    end_situation();
    if (request != nullptr) {
        answer_ = attempt.granted;
        take_answer(*request, attempt.explanation.pool);
    }
    findings_.keep_peak(model_.allocator->usage());
    return attempt.differences;
}

// The short form of adopting an attempt, for most requests of a run whose explanation is known:
// they were compared when they were explained, so the model need not be copied, and its actions
// need not be collected.
void DeviceReplay::follow_plain(const Situation& at, const Explanation& how) {
    for (const std::size_t step : cursor_.completions())
        live_.complete(model_, cursor_.event(step));
    answer_ = perform_request(at, model_, how);
    end_situation();
    take_answer(*at.request, how.pool);
}

void DeviceReplay::end_situation() {
    live_.take_streams(cursor_.completions().size());
    if (hypotheses_.pools || hypotheses_.switches)
        pools_.follow(cursor_);
    clear_pending();
}

void DeviceReplay::take_answer(const TraceEvent& request, PoolId pool) {
    const tl::expected<Allocation, OutOfMemory>& granted = *answer_;
    if (!granted)
        return;
    if (request.kind == EventKind::allocate && request.slot < live_.slots()) {
        live_.put(model_, *granted, request);
        pools_.note_request(pool);
    } else {
        model_.allocator->deallocate(*granted, request.stream);
    }
}

void DeviceReplay::clear_pending() {
    for (const std::size_t step : cursor_.completions())
        live_.erase(cursor_.event(step).slot);
    cursor_.clear_pending();
    ended_ = {};
}

// Would the other value of expandable_segments reproduce the record too, and leave another state?
void DeviceReplay::fork(const Attempt& taken, const TraceEvent& request) {
    if (request.kind != EventKind::allocate || request.size <= 1_MiB || !taken.granted->has_value())
        return;
    Explanation how = taken.explanation;
    how.switched = !how.switched;
    Attempt other = attempt(situation(&request), model_.copy(), how);
    if (other.differences != 0 || (*other.granted)->size == (*taken.granted)->size)
        return;
    fork_choice_ = fork_at((*taken.granted)->address);
    auto twin = std::make_unique<DeviceReplay>(copy());
    twin->findings_.adopted.back().how = other.explanation;
    twin->adopt(std::move(other), &request);
    twin->cursor_.advance();
    fork_ = std::move(twin);
}

// Forks are known by the segment that they are about; groups have small numbers.
std::uint32_t DeviceReplay::fork_at(Address address) const {
    constexpr std::uint32_t kFork = 0x80000000U;
    const std::uint64_t begin = to_integer(pools_.begin_below(address));
    return kFork | static_cast<std::uint32_t>(begin >> 21U & (kFork - 1));
}

// What a contradiction is about: first the segments on which the model and the record differ, then
// those that both name.
void DeviceReplay::find_suspects(const Attempt& attempt) {
    suspects_ = {};
    const std::vector<ScriptedDevice::Call> recorded = recorded_calls(cursor_);
    const auto has = [](const auto& calls, const ScriptedDevice::Call& call) {
        return std::ranges::find(calls, call) != calls.end();
    };
    for (const ScriptedDevice::Call& call : recorded)
        suspect(call.range.begin, has(attempt.calls, call) ? suspects_.common : suspects_.prime);
    for (const ScriptedDevice::Call& call : attempt.calls) {
        if (!has(recorded, call))
            suspect(call.range.begin, suspects_.prime);
    }
    for (const std::uint32_t key : pools_.keys_of_births(cursor_))
        suspects_.prime.push_back(key);
    if (at_end() || (attempt.granted && granted_as_recorded(attempt, cursor_.event())))
        return;
    if (attempt.granted && *attempt.granted)
        suspect((*attempt.granted)->address, suspects_.prime);
    if (cursor_.event().kind == EventKind::allocate)
        suspect(Address{cursor_.event().address}, suspects_.prime);
}

void DeviceReplay::suspect(Address address, std::vector<std::uint32_t>& choices) const {
    for (const std::uint32_t key : pools_.keys_at(address))
        choices.push_back(key);
    if (hypotheses_.switches)
        choices.push_back(fork_at(address));
}

}  // namespace tidemark
