// Completions: when the device is done with memory that a program has freed, in a replay that does
// not complete frees where the recording saw them complete.
//
// The engine asks when an allocator would look: before each request. It holds the pending frees; an
// implementation of this class decides how long each is pending.
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

    // Event `event` is about to request memory. Returns the waits that are over by then, each once,
    // in the order in which their memory becomes free. Valid until the next call.
    virtual std::span<const std::size_t> ended_by(std::uint64_t event, Nanoseconds spent) = 0;

    // The program waits until the device has done everything: all waits that are not over yet.
    // Valid until the next call.
    virtual std::span<const std::size_t> end_all() = 0;
};

}  // namespace tidemark
