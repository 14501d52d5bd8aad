// HeldState: everything that a run's allocators hold at its end, or, with stop_at_refusal, at the
// request that failed: segments with their regions, and what the program has in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "replay/scenario/scenario.h"

namespace tidemark {

struct HeldBlock {
    Region::State state = Region::State::free;
    Range range;
    Bytes requested = 0;      // of an allocated or waiting block; 0 if not known
    std::uint32_t stack = 0;  // of its request
};

struct HeldSegment {
    Range range;  // one allocation from the device, or a run of mapped pages
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    bool expandable = false;        // the latter
    std::vector<HeldBlock> blocks;  // by address; they tile the segment
};

struct HeldState {
    std::uint64_t event = 0;                          // the last one that was replayed
    std::vector<std::vector<HeldSegment>> devices;    // segments by address
    std::vector<std::vector<AddressSpan>> addresses;  // by device; empty: the policy keeps none
};

// Watches a run and keeps what was held at its end. O(1) an event; memory O(live).
class HeldStateObserver final : public Observer {
  public:
    explicit HeldStateObserver(const TraceInfo& info)
        : live_(info.slot_count), reservations_(info.devices.size()) {}

    // Puts itself into `listeners`, as observer and for memory, begun and ended, which must be
    // free. It must outlive the run.
    void listen(RunListeners& listeners);

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override;

    // After the run.
    HeldState take() { return std::move(state_); }

  private:
    // Which addresses are reservations, into which pages are mapped.
    class Reservations;

    struct Live {
        Address address = Address::null;  // null: nothing is allocated
        Bytes requested = 0;
        std::uint32_t stack = 0;
        std::uint16_t device = 0;
    };

    using Grants = std::map<Address, const Live*>;

    void gather();
    HeldBlock block_of(const Region& region, const Grants& grants) const;

    std::vector<Live> live_;  // by slot
    std::vector<std::shared_ptr<Reservations>> reservations_;
    std::span<const DeviceContext> contexts_;
    HeldState state_;
};

}  // namespace tidemark
