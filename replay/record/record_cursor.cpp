// Pending entries, and the device calls behind those about segments.
#include "replay/record/record_cursor.h"

#include <algorithm>

namespace tidemark {
namespace {

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

}  // namespace

bool RecordCursor::completes(std::uint32_t slot) const {
    return std::ranges::any_of(completions_,
                               [&](std::size_t step) { return event(step).slot == slot; });
}

std::vector<ScriptedDevice::Call> RecordCursor::calls() const {
    std::vector<ScriptedDevice::Call> calls;
    for (const std::size_t step : segments_) {
        const TraceEvent& entry = event(step);
        calls.push_back({call_of(entry.kind), {Address{entry.address}, entry.size}});
    }
    return calls;
}

void RecordCursor::add_segment() {
    segments_.push_back(position_);
    releases_ = releases_ || is_release(event().kind);
}

void RecordCursor::clear_pending() {
    completions_.clear();
    segments_.clear();
    releases_ = false;
}

const RecordedStep& RecordCursor::step_near(std::size_t step) const {
    return record_->steps[std::min(step, record_->steps.size() - 1)];
}

}  // namespace tidemark
