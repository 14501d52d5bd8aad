// RecordedAllocator: gives each event the answer that the recorded run gave.
//
// The answers come from the model of the recorded allocator, which steps through the record again
// during the replay, with the explanation that was found (ExplainedRecord): at the recorded
// addresses, with the recorded completions. So its counters are those of the recorded run, and
// `verify` checks it against every recorded decision.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/wrap/scripted.h"
#include "core/allocator/allocator.h"
#include "core/allocator/memory_observer.h"
#include "core/base/result.h"
#include "replay/record/device_replay.h"
#include "replay/record/explained_record.h"

namespace tidemark {

// For the engine: advance() before each event. Not thread-safe.
class RecordedAllocator final : public Allocator {
  public:
    // Device `number` of `run`, whose trace is read again: O(events) time and memory. The model
    // talks to `face`, which wraps `device`. All must outlive it. Errors: those of the trace and
    // the policy.
    static Result<std::unique_ptr<RecordedAllocator>> make(const ExplainedRecord& run,
                                                           std::size_t number,
                                                           ScriptedDevice& device, Device& face);

    // Reports the memory that was held before the recording began.
    void report_memory(MemoryObserver& observer) const;

    // Up to and with that event of the trace.
    void advance(std::uint64_t event);

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;

    void record_use(const Allocation& /*allocation*/, StreamId /*stream*/) override {}

    void trim(TrimLevel /*level*/) override {}

    Bytes largest_free() const override { return replay_->allocator().largest_free(); }

    void for_each_region(const std::function<void(const Region&)>& visit) const override {
        replay_->allocator().for_each_region(visit);
    }

  private:
    // What was live on the device before the recording, in the order of its events.
    struct Preamble {
        struct Memory {
            std::uint64_t event = 0;
            Bytes size = 0;
        };

        struct Retired {
            std::uint64_t event = 0;
            std::uint32_t slot = 0;
        };

        std::uint64_t events = 0;
        std::vector<std::uint32_t> slots;  // of allocations
        std::vector<Retired> retired;      // of these, what the device isn't done with
        std::vector<Memory> memory;        // that the device had given
    };

    static Result<Preamble> preamble_of(const Trace& trace, std::size_t device);

    explicit RecordedAllocator(std::unique_ptr<DeviceRecord> record) : record_(std::move(record)) {}

    void advance_preamble(std::uint64_t event);
    void show();

    std::unique_ptr<DeviceRecord> record_;
    std::unique_ptr<DeviceReplay> replay_;
    std::size_t seeded_ = 0;  // allocations of the preamble that the replay has requested
    Preamble preamble_;
    bool in_preamble_ = false;
    std::size_t memory_seen_ = 0;   // of its memory, what has been replayed
    std::size_t retired_seen_ = 0;  // the same
    Bytes born_ = 0;                // bytes of its allocations, as far as they have been replayed
    Bytes retired_ = 0;             // of these, retired
    Bytes taken_ = 0;               // from the device
};

}  // namespace tidemark
