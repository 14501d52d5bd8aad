// Carrying out an explanation on a model, and comparing what it did with the record.
#include <algorithm>
#include <iterator>

#include "replay/record/explanation.h"

namespace tidemark {
namespace {

using Call = ScriptedDevice::Call;

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

bool is_before(const Call& a, const Call& b) {
    return a.call != b.call ? a.call < b.call : a.range.begin < b.range.begin;
}

const TraceEvent& completion(const Situation& at, std::size_t number) {
    return at.cursor.event(at.cursor.completions()[number]);
}

void complete_all(const Situation& at, AllocatorModel& model, std::size_t early) {
    for (std::size_t i = 0; i < at.cursor.completions().size(); ++i) {
        const TraceEvent& end = completion(at, i);
        if (i < early)
            at.live.complete(model, end);
        else
            at.live.await(model, end, at.live.late_stream(end, i));
    }
}

void give_back(const Situation& at, AllocatorModel& model, const Explanation& how) {
    for (const PoolId pool : at.pools.ended(at.cursor)) {
        if (at.request != nullptr && how.pool == pool)
            continue;
        model.allocator->close_pool(pool);
        if (how.pool_ended)
            model.allocator->trim_pool(pool);
    }
    if (how.emptied)
        model.allocator->trim(TrimLevel::all);
}

// A wait completes everything: exactly the late completions must have been left, or none.
std::uint64_t wrong_waits(const Situation& at, ScriptedDevice& device, std::size_t early,
                          std::size_t awaited_before) {
    const std::size_t waited_for = awaited_before - device.awaited_count();
    const std::size_t all = at.cursor.completions().size();
    std::uint64_t different = 0;
    for (std::size_t i = early; i < all; ++i) {
        const StreamId stream = at.live.late_stream(completion(at, i), i);
        different += device.is_awaited(stream) ? 1U : 0U;
        device.finish(stream);
    }
    const std::size_t expected = all - std::min(early, all);
    return different + (waited_for > expected ? waited_for - expected : 0);
}

// In any order: PyTorch releases several pools in the order of a hash table.
std::uint64_t unordered_differences(std::vector<Call> recorded, std::vector<Call> calls) {
    std::ranges::sort(recorded, is_before);
    std::ranges::sort(calls, is_before);
    std::vector<Call> missing;
    std::ranges::set_symmetric_difference(recorded, calls, std::back_inserter(missing), is_before);
    return missing.size();
}

std::uint64_t differences(const Situation& at, const Attempt& attempt) {
    const std::vector<Call> recorded = recorded_calls(at.cursor);
    std::uint64_t count = std::max(recorded.size(), attempt.calls.size());
    for (std::size_t i = 0; i < std::min(recorded.size(), attempt.calls.size()); ++i)
        count -= recorded[i] == attempt.calls[i] ? 1U : 0U;
    if (count != 0 && at.cursor.releases() && at.pools.ended(at.cursor).size() > 1)
        count = unordered_differences(recorded, attempt.calls);
    const bool same = at.request == nullptr || granted_as_recorded(attempt, *at.request);
    return count + (same ? 0U : 1U);
}

}  // namespace

std::vector<Call> recorded_calls(const RecordCursor& cursor) {
    std::vector<Call> calls;
    for (const std::size_t step : cursor.segments()) {
        const TraceEvent& entry = cursor.event(step);
        calls.push_back({call_of(entry.kind), {Address{entry.address}, entry.size}});
    }
    return calls;
}

tl::expected<Allocation, OutOfMemory> perform_request(const Situation& at, AllocatorModel& model,
                                                      const Explanation& how) {
    const bool whole = at.cursor.record().whole_pools.contains(how.pool);
    const PoolId scope = how.in_scope ? kForeignScope : how.pool;
    if (how.in_scope || whole)
        model.allocator->begin_pool(scope, {.splits = !whole});
    Request wanted{.size = at.request->size, .stream = at.request->stream, .pool = how.pool};
    if (at.request->kind == EventKind::allocate)
        wanted.among_equals = Address{at.request->address};
    auto granted = model.allocator->allocate(wanted);
    if (how.in_scope || whole)
        model.allocator->end_pool(scope);
    return granted;
}

bool granted_as_recorded(const Attempt& attempt, const TraceEvent& request) {
    const auto& granted = *attempt.granted;
    if (request.kind == EventKind::out_of_memory)
        return !granted;
    return granted && to_integer(granted->address) == request.address;
}

Attempt attempt(const Situation& at, AllocatorModel model, const Explanation& how) {
    Attempt result;
    result.model = std::move(model);
    result.explanation = how;
    ScriptedDevice& device = *result.model.device;
    complete_all(at, result.model, how.completed);
    if (!at.cursor.segments().empty() || how.device_full || device.has_script())
        device.play(recorded_calls(at.cursor), how.device_full);
    if (how.switched != result.model.switched && at.spec.switched) {
        const PolicySpec& spec = how.switched ? *at.spec.switched : at.spec.policy;
        static_cast<void>(result.model.allocator->reconfigure(spec.options));
        result.model.switched = how.switched;
    }
    const std::size_t awaited = device.awaited_count();
    if (at.cursor.releases())
        give_back(at, result.model, how);
    else if (how.emptied)
        result.model.allocator->trim(TrimLevel::all);
    if (at.request != nullptr)
        result.granted = perform_request(at, result.model, how);
    result.calls.assign(device.log().begin(), device.log().end());
    result.differences = wrong_waits(at, device, how.completed, awaited) + differences(at, result);
    return result;
}

}  // namespace tidemark
