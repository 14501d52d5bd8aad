// DecisionLog: what an allocator decided, as lines of text. The same decisions give the same lines:
// on the simulator and on real hardware, in this process and in the next.
//
// A line is "EVENT DEVICE TEXT": the event of the trace at which it happened, the device of the
// trace, and one of
//     malloc SIZE -> p1           free p1            (a malloc_async gives a1, a2, ...)
//     reserve SIZE -> v1          unreserve v1 SIZE
//     create SIZE -> h1           release h1
//     map v1+OFFSET SIZE h1       unmap v1+OFFSET SIZE        set_access v1+OFFSET SIZE write
//     record STREAM -> e1         complete e1 -> yes          wait STREAM e1
//     synchronize STREAM
//     grant SIZE STREAM -> p1+OFFSET (SIZE)                   refuse SIZE STREAM: CAUSE
// and the other calls of core/device/device.h that take or return memory or time. Addresses are
// relative to their segment or reservation; segments, reservations, handles and events are numbered
// in order of appearance, so the hardware's bases and handles don't show. A failed call has its
// status instead of a result. Moving bytes is not a decision.
//
// DecisionDevice and DecisionAllocator watch one device of the trace each and answer exactly what
// the inner ones answer. Not thread-safe. O(log live segments) a line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backends/wrap/device_call.h"
#include "backends/wrap/wrapped_allocator.h"

namespace tidemark {

class DecisionLog {
  public:
    // Takes whole lines, many at a time.
    using Sink = std::function<void(std::string_view lines)>;

    explicit DecisionLog(Sink sink) : sink_(std::move(sink)) {}

    // The number of the current event. A plain store: call it before each event.
    void set_event(std::uint64_t event) { event_ = event; }

    void add(std::uint16_t device, std::string_view text);

    // Passes the rest to the sink. Later calls are no longer decisions: the program has ended, and
    // its machine is being destroyed.
    void end();

    std::uint64_t count() const { return count_; }

    // XXH3 over the lines, in order: equal exactly if they are.
    std::uint64_t hash() const { return hash_; }

  private:
    void flush();

    Sink sink_;
    bool ended_ = false;
    std::uint64_t event_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t hash_ = 0;
    std::string lines_;
};

class DecisionDevice final : public WrappedDevice<DecisionDevice> {
  public:
    // `number` is the device's in the trace.
    DecisionDevice(Device& inner, std::uint16_t number, DecisionLog& log)
        : WrappedDevice(inner), number_(number), log_(log) {}

    template <class Make>
    auto around(const CallArguments& arguments, Make make) -> decltype(make()) {
        auto result = make();
        called(arguments, outcome_of(result));
        return result;
    }

    // "p3+512": where in which segment or reservation; "nowhere" outside of all.
    std::string position(Address address) const;

    void granted(const Request& request, const Allocation& allocation);
    void refused(const Request& request, const OutOfMemory& why);

  private:
    struct Segment {
        Bytes size = 0;
        std::string name;
    };

    void called(const CallArguments& arguments, const CallOutcome& outcome);
    std::string text(const CallArguments& arguments) const;
    std::string given(const CallArguments& arguments, const CallOutcome& outcome);
    void forget(const CallArguments& arguments);
    std::string open(char kind, Address address, Bytes size);
    std::string handle_name(std::uint64_t handle) const;
    std::string event_name(std::uint64_t event) const;

    std::uint16_t number_;
    DecisionLog& log_;
    std::map<std::uint64_t, Segment> segments_;                 // live ones, by address
    std::unordered_map<char, std::uint64_t> opened_;            // so many of each kind
    std::unordered_map<std::uint64_t, std::uint64_t> handles_;  // the device's id -> ours
    std::unordered_map<std::uint64_t, std::uint64_t> events_;
};

class DecisionAllocator final : public WrappedAllocator {
  public:
    DecisionAllocator(std::unique_ptr<Allocator> inner, DecisionDevice& device)
        : WrappedAllocator(std::move(inner)), device_(device) {}

    tl::expected<Allocation, OutOfMemory> allocate(const Request& request) override;

  private:
    DecisionDevice& device_;
};

}  // namespace tidemark
