// AskingTrace: a recorded trace in which every request that was refused when it was recorded is
// asked again, and let go at once if it is granted. What the program would have done with the
// memory nobody knows; whether it would have had it is the question.
//
// A view of another trace, which must outlive it. Thread-safe as any Trace. Each request that is
// asked again is one event more: original() gives the index in the other trace.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark {

class AskingTrace final : public Trace {
  public:
    // `refused`: the indexes of all out_of_memory events of `trace`, ascending.
    AskingTrace(const Trace& trace, std::vector<std::uint64_t> refused);

    // The index in the other trace of event `event` of this one. O(log refusals).
    std::uint64_t original(std::uint64_t event) const;

    const TraceInfo& info() const override { return info_; }

    std::unique_ptr<TraceCursor> cursor() const override;

    std::uint64_t hash() const override { return trace_.hash(); }

  private:
    const Trace& trace_;
    TraceInfo info_;
    std::vector<std::uint64_t> added_;  // indexes, in this trace, of the events that it has more
};

}  // namespace tidemark
