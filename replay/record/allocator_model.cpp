// Frees that wait, as uses by streams of the model's own.
#include "replay/record/allocator_model.h"

#include <utility>

namespace tidemark {
namespace {

// Far above the streams of any trace.
constexpr std::uint32_t kFirstOwnStream = 0x40000000U;

void free_after(AllocatorModel& model, const Allocation& allocation, StreamId stream) {
    model.device->await(stream);
    model.allocator->record_use(allocation, stream);
    model.allocator->deallocate(allocation, stream);
}

}  // namespace

AllocatorModel& AllocatorModel::operator=(AllocatorModel&& other) noexcept {
    allocator = std::move(other.allocator);
    own = std::move(other.own);
    device = other.device;
    switched = other.switched;
    return *this;
}

AllocatorModel AllocatorModel::copy() const {
    AllocatorModel twin;
    twin.own = std::make_unique<ScriptedDevice>(*device);
    twin.device = twin.own.get();
    twin.allocator = allocator->clone(*twin.device);
    twin.switched = switched;
    return twin;
}

void LiveAllocations::put(AllocatorModel& model, const Allocation& allocation,
                          const TraceEvent& request) {
    Live& live = live_[request.slot];
    if (live.granted && live.awaited == StreamId{})
        model.allocator->deallocate(live.allocation, request.stream);
    live = {allocation, true, {}};
}

void LiveAllocations::retire(AllocatorModel& model, std::uint32_t slot) {
    if (!is_live(slot) || live_[slot].awaited != StreamId{})
        return;
    live_[slot].awaited = StreamId{kFirstOwnStream + streams_++};
    free_after(model, live_[slot].allocation, live_[slot].awaited);
}

// Memory that was waiting when the trace began waits for nothing but this.
void LiveAllocations::complete(AllocatorModel& model, const TraceEvent& end) const {
    if (!is_live(end.slot))
        return;
    const Live& live = live_[end.slot];
    if (live.awaited != StreamId{})
        model.device->finish(live.awaited);
    else
        model.allocator->deallocate(live.allocation, end.stream);
}

void LiveAllocations::await(AllocatorModel& model, const TraceEvent& end, StreamId stream) const {
    if (is_live(end.slot) && live_[end.slot].awaited == StreamId{})
        free_after(model, live_[end.slot].allocation, stream);
}

StreamId LiveAllocations::late_stream(const TraceEvent& end, std::size_t number) const {
    const bool waits = end.slot < live_.size() && live_[end.slot].awaited != StreamId{};
    return waits ? live_[end.slot].awaited
                 : StreamId{kFirstOwnStream + streams_ + static_cast<std::uint32_t>(number)};
}

void LiveAllocations::erase(std::uint32_t slot) {
    if (is_live(slot))
        live_[slot] = {};
}

}  // namespace tidemark
