// Completions: when the device is done with what a program has freed, in a replay that does not
// keep the places at which the recording saw it.
//
// The engine asks at the moments at which an allocator would look: before each request. It holds
// what waits; whoever implements this decides how long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/units.h"

namespace tidemark {

class Completions {
  public:
    virtual ~Completions() = default;

    // Event `event` (a retire) begins a wait. Returns its number, with which ended_by() reports its
    // end. Events come in order. `spent` is what this replay's device calls have cost the program
    // so far.
    virtual std::size_t begin_wait(std::uint64_t event, Nanoseconds spent) = 0;

    // Event `event` is about to ask for memory: the waits that are over by then, each once, in the
    // order in which their memory becomes free. Valid until the next call.
    virtual std::span<const std::size_t> ended_by(std::uint64_t event, Nanoseconds spent) = 0;

    // The program waits until the device has done everything: all waits that are not over yet.
    // Valid until the next call.
    virtual std::span<const std::size_t> end_all() = 0;
};

}  // namespace tidemark
