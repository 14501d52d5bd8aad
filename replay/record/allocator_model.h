// AllocatorModel: the policy under test, on a device that hands out recorded addresses; and
// LiveAllocations: what it has granted to the program, by slot.
//
// A free whose completion is recorded later is a free of memory that another stream still uses: a
// stream that only the model knows, which the device finishes when the record says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"
#include "traces/model/event.h"

namespace tidemark {

// The policy under test, and how it looks with the setting that programs switch while they run.
struct ModelSpec {
    PolicySpec policy;
    std::optional<PolicySpec> switched;  // expandable_segments the other way; empty if it has none
    Bytes capacity = 0;                  // of the device
};

struct AllocatorModel {
    std::unique_ptr<ScriptedDevice> own;  // null where the device is another's
    ScriptedDevice* device = nullptr;
    std::unique_ptr<Allocator> allocator;
    bool switched = false;  // it runs under ModelSpec::switched

    AllocatorModel() = default;
    AllocatorModel(AllocatorModel&&) = default;
    AllocatorModel& operator=(AllocatorModel&& other) noexcept;  // the allocator goes first

    // The copy has a device of its own. The allocator must be one that can be cloned.
    AllocatorModel copy() const;
};

class LiveAllocations {
  public:
    explicit LiveAllocations(std::size_t slots) : live_(slots) {}

    // The live allocation in `slot`; null if there is none.
    const Allocation* find(std::uint32_t slot) const {
        return is_live(slot) ? &live_[slot].allocation : nullptr;
    }

    // An allocation takes `slot`, which must be in range; one that is still live there is freed.
    void put(AllocatorModel& model, const Allocation& allocation, const TraceEvent& request);

    // Of an allocation that was live before the record.
    void put_seed(std::uint32_t slot, const Allocation& allocation) {
        live_[slot] = {allocation, true, {}};
    }

    // The program frees it; the device isn't done with it.
    void retire(AllocatorModel& model, std::uint32_t slot);

    // The end of a free, recorded as `end`. The allocation stays here until erase().
    void complete(AllocatorModel& model, const TraceEvent& end) const;

    // A free that was complete at once, treated as one that waits for `stream`.
    void await(AllocatorModel& model, const TraceEvent& end, StreamId stream) const;

    // What the `number`-th of several late completions waits for: its own stream or a new one.
    StreamId late_stream(const TraceEvent& end, std::size_t number) const;

    // Its lifetime is over: nothing happens if none is live there.
    void erase(std::uint32_t slot);

    // How many numbers of late_stream() have been used.
    void take_streams(std::size_t count) { streams_ += static_cast<std::uint32_t>(count); }

    // What a copy takes, roughly.
    std::size_t bytes() const { return live_.size() * (sizeof(Live) + 2 * sizeof(Allocation)); }

    std::size_t slots() const { return live_.size(); }

  private:
    struct Live {
        Allocation allocation;
        bool granted = false;
        StreamId awaited{};  // the model's stream that uses it after its free; 0 = none
    };

    bool is_live(std::uint32_t slot) const { return slot < live_.size() && live_[slot].granted; }

    std::vector<Live> live_;
    std::uint32_t streams_ = 0;  // of the model's own, so far
};

}  // namespace tidemark
