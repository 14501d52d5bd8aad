// Live allocations are kept by slot; the regions are read once, before the allocators are
// destroyed.
#include "replay/scenario/held_state.h"

#include <algorithm>
#include <utility>

namespace tidemark {

class HeldStateObserver::Reservations final : public MemoryObserver {
  public:
    bool contain(Range range) const {
        auto next = ranges_.upper_bound(range.begin);
        return next != ranges_.begin() &&
               to_integer(range.begin) - to_integer(std::prev(next)->first) <
                   std::prev(next)->second;
    }

    void on_segment(SegmentChange change, Range range, StreamId /*stream*/,
                    Address /*home*/) override {
        if (change == SegmentChange::reserve)
            ranges_[range.begin] = range.size;
        else if (change == SegmentChange::unreserve)
            ranges_.erase(range.begin);
    }

  private:
    std::map<Address, Bytes> ranges_;
};

void HeldStateObserver::listen(RunListeners& listeners) {
    listeners.observer = this;
    listeners.memory = [this](std::size_t device) -> MemoryObserver* {
        if (device >= reservations_.size())
            return nullptr;
        reservations_[device] = std::make_shared<Reservations>();
        return reservations_[device].get();
    };
    listeners.begun = [this](std::span<const DeviceContext> contexts,
                             const std::uint64_t& /*event*/) { contexts_ = contexts; };
    listeners.ended = [this] { gather(); };
}

void HeldStateObserver::on_events(const EventBatch& events, const OutcomeBatch& outcomes) {
    for (std::size_t i = 0; i < events.count; ++i) {
        const EventKind kind = events.kind[i];
        const std::uint32_t slot = events.slot[i];
        if (slot >= live_.size())
            continue;
        if (kind == EventKind::allocate)
            live_[slot] = {outcomes.granted[i], events.size[i], events.stack[i], events.device[i]};
        else if (kind == EventKind::free || kind == EventKind::finish)
            live_[slot] = {};
    }
    if (events.count > 0)
        state_.event = outcomes.first_event + events.count - 1;
}

HeldBlock HeldStateObserver::block_of(const Region& region, const Grants& grants) const {
    HeldBlock block{region.state, region.range, 0, 0};
    const auto found = grants.find(region.range.begin);
    const bool used =
        region.state == Region::State::allocated || region.state == Region::State::waiting;
    if (used && found != grants.end()) {
        block.requested = found->second->requested;
        block.stack = found->second->stack;
    }
    return block;
}

// Regions come in address order within each segment; they name their segment.
void HeldStateObserver::gather() {
    state_.devices.resize(contexts_.size());
    state_.addresses.resize(contexts_.size());
    for (std::size_t device = 0; device < contexts_.size(); ++device) {
        Grants grants;
        for (const Live& live : live_)
            if (live.address != Address::null &&
                std::min<std::size_t>(live.device, contexts_.size() - 1) == device)
                grants[live.address] = &live;
        std::map<Address, HeldSegment> segments;
        contexts_[device].allocator->for_each_region([&](const Region& region) {
            HeldSegment& segment = segments[region.segment.begin];
            if (segment.blocks.empty()) {
                segment.range = region.segment;
                segment.stream = region.stream;
                segment.pool = region.pool;
                segment.expandable = device < reservations_.size() &&
                                     reservations_[device] != nullptr &&
                                     reservations_[device]->contain(region.segment);
            }
            segment.blocks.push_back(block_of(region, grants));
        });
        contexts_[device].allocator->for_each_address(
            [&](const AddressSpan& span) { state_.addresses[device].push_back(span); });
        for (auto& [address, segment] : segments)
            state_.devices[device].push_back(std::move(segment));
    }
}

}  // namespace tidemark
