// TouchingAllocator: an Allocator over an Allocator that proves by content that no two live
// allocations share a byte. It fills each with a word of its own when it is granted, and before it
// is freed checks that every byte is unchanged.
//
// It decides nothing and needs a device that waits when it is asked whether work is done
// (await_events), so that queued checks change no answer. It bypasses everything else that is
// wrapped around `device`: pass it the bare one. While a graph is captured it neither writes nor
// checks.
//
// Not thread-safe. Two device calls an allocation, each O(bytes); memory O(live allocations).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "backends/wrap/wrapped_allocator.h"

namespace tidemark {

// The first byte that had changed, down to its word of 4 bytes.
struct TouchDifference {
    std::uint64_t event = 0;    // at which it was noticed
    std::uint64_t granted = 0;  // the event that granted the allocation
    Address address = Address::null;
    std::uint32_t expected = 0;  // lowest byte first
};

struct TouchReport {
    std::uint64_t allocations = 0;  // written
    Bytes bytes = 0;                // written
    std::uint64_t damaged = 0;      // allocations that contained other bytes
    Bytes differing = 0;            // such bytes
    std::uint64_t failures = 0;     // writes and checks that the device refused
    std::optional<TouchDifference> first_difference;
    std::optional<DeviceError> first_failure;

    bool clean() const { return damaged == 0 && failures == 0; }

    // Sums; the first of two differences and failures stays.
    TouchReport& operator+=(const TouchReport& other);
};

class TouchingAllocator final : public WrappedAllocator {
  public:
    // `device` has Feature::patterns and must outlive it.
    TouchingAllocator(std::unique_ptr<Allocator> inner, Device& device)
        : WrappedAllocator(std::move(inner)), device_(device) {}

    // The number of the current event. A plain store: call it before each event.
    void set_event(std::uint64_t event) { event_ = event; }

    // Checks everything that is still live, in the order in which it was granted: at the end of a
    // program.
    void check_live();

    const TouchReport& report() const { return report_; }

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;
    void deallocate(const Allocation& allocation, StreamId stream) override;

  private:
    struct Touched {
        Range range;
        std::uint32_t word = 0;
        StreamId stream = StreamId::default_stream;
        std::uint64_t event = 0;
    };

    void write(const Request& request, const Allocation& allocation);
    void check(const Touched& touched);
    void damage(const Touched& touched, Bytes differing, Address first);
    void fail(const DeviceError& error);
    Address find_first(const Touched& touched);

    Device& device_;
    std::uint64_t event_ = 0;
    TouchReport report_;
    std::unordered_map<std::uint64_t, Touched> live_;  // by the allocation's address
};

}  // namespace tidemark
