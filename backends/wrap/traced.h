// TracedDevice: a Device over a Device that keeps a log of the calls: arguments, result, and time.
// Not thread-safe. O(1) a call; memory O(calls kept).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>

#include "backends/wrap/device_call.h"

namespace tidemark {

struct CallRecord {
    CallArguments arguments;
    CallOutcome outcome;
    Nanoseconds begin = 0;  // on the device's clock
    Nanoseconds end = 0;
};

// One line: "1200 ns: malloc(size=512) -> 0x302000000". Stable: tests compare logs as text.
std::string to_text(const CallRecord& record);

class TracedDevice final : public WrappedDevice<TracedDevice> {
  public:
    static constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

    // Keeps the last `bound` calls.
    explicit TracedDevice(Device& inner, std::size_t bound = kUnbounded)
        : WrappedDevice(inner), bound_(bound) {}

    const std::deque<CallRecord>& log() const { return log_; }

    std::uint64_t dropped() const { return dropped_; }  // calls dropped because of the bound

    void clear() { log_.clear(); }

    template <class Make>
    auto around(const CallArguments& arguments, Make make) -> decltype(make()) {
        const Nanoseconds begin = inner_.now();
        auto result = make();
        keep({arguments, outcome_of(result), begin, inner_.now()});
        return result;
    }

  private:
    void keep(const CallRecord& record);

    std::size_t bound_;
    std::uint64_t dropped_ = 0;
    std::deque<CallRecord> log_;
};

}  // namespace tidemark
