// HazardLog: the problems that the checker found, counted by kind.
//
// A replay sets the current event; a hazard names that event and the one where the trouble began.
// Not thread-safe. O(1) a call.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/units.h"

namespace tidemark {

// "[0x7f00, +512)", as hazards show ranges.
inline std::string range_text(Range range) {
    return fmt::format("[{:#x}, +{})", to_integer(range.begin), range.size);
}

enum class HazardKind : std::uint8_t {
    overlap,                  // bytes granted that another live allocation has
    reuse_before_completion,  // bytes granted while work on another stream may still use them
    unmap_in_flight,          // memory released under a live allocation or under such work
    double_free,              // freed again: an allocation, or memory of the device
    unknown_free,             // freed, but never granted
    out_of_bounds,            // granted or used outside of accessible memory of the device
    misaligned,               // granted at an address that violates the request's alignment
    leak,                     // still held from the device when the allocator was gone
    illegal_in_capture,       // a call that waits or asks, while a graph was captured
    graph_memory_reused,      // a launch, of a graph whose memory is now another allocation's
    graph_memory_freed,       // a launch, of a graph whose memory was freed
    graph_race,               // a launch while another graph may still use the same memory
};
constexpr int kHazardKindCount = static_cast<int>(HazardKind::graph_race) + 1;

std::string_view to_text(HazardKind kind);

// `first_event` is where the trouble began (the grant or deallocation that `second_event` clashes
// with), in the numbers given to set_event.
struct Hazard {
    HazardKind kind = HazardKind::overlap;
    std::uint64_t first_event = 0;
    std::uint64_t second_event = 0;
    std::string what;  // one sentence
};

class HazardLog {
  public:
    static constexpr std::size_t kMostKept = 100;

    void set_event(std::uint64_t event) { event_ = event; }

    std::uint64_t event() const { return event_; }

    void report(HazardKind kind, std::uint64_t first_event, std::string what) {
        ++counts_[static_cast<std::size_t>(kind)];
        if (hazards_.size() < kMostKept)
            hazards_.push_back({kind, first_event, event_, std::move(what)});
    }

    // The first kMostKept, in the order of their discovery.
    std::span<const Hazard> hazards() const { return hazards_; }

    // All of them.
    std::uint64_t count() const {
        return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
    }

    std::uint64_t count(HazardKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

  private:
    std::uint64_t event_ = 0;
    std::vector<Hazard> hazards_;
    std::array<std::uint64_t, kHazardKindCount> counts_{};
};

}  // namespace tidemark
