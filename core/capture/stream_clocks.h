// StreamClocks: after which work of the others each stream of a graph is known to run, from the
// edges between streams.
//
// Vector clocks (Fidge, Mattern, 1988): each stream knows, for each other one, up to which position
// that one's work is done before its own continues. Positions count what happens while a graph is
// captured, in order, over all streams.
//
// A value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

class StreamClocks {
  public:
    static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

    // From position `at` on, `to` runs after what `from` did before `at`. `at` never decreases from
    // call to call. O(streams that `from` knows of).
    void edge(std::uint32_t at, StreamId from, StreamId to);

    // Does what `later` does from position `begin` on run after everything that `earlier` did
    // before `end`? For a single stream: if `end` is not behind `begin`. O(log edges).
    bool ordered(StreamId earlier, std::uint32_t end, StreamId later, std::uint32_t begin) const;

    // The first position from which `later` runs after what `earlier` did before `end`, or kNever.
    std::uint32_t ready(StreamId earlier, std::uint32_t end, StreamId later) const;

  private:
    // From position `at` on, everything before `known` is done.
    struct Step {
        std::uint32_t at = 0;
        std::uint32_t known = 0;
    };

    using Steps = std::vector<Step>;  // both fields increase

    static void learn(Steps& steps, Step step);

    std::map<StreamId, std::map<StreamId, Steps>> known_;  // of whom [by whom][of whom]
};

}  // namespace tidemark
