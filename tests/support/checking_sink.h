// CheckingSink: takes what a reader or a generator gives, keeps it, and finds out whether it keeps
// the promises of traces/model: times that never decrease, slots that are taken only when free and
// ended only when taken, indexes that are within their tables.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark::support {

class CheckingSink final : public TraceSink {
  public:
    Result<void> append(std::span<const TraceEvent> events) override;
    Result<void> finish(const TraceInfo& info) override;

    const std::vector<TraceEvent>& events() const { return events_; }

    // The first broken promise in words; "" = none. Those about tables are known after finish().
    const std::string& problem() const { return problem_; }

    std::uint64_t most_live() const { return most_live_; }

  private:
    enum class State : std::uint8_t { none, live, retired };

    void check(const TraceEvent& event);
    void expect(bool condition, const char* promise, std::size_t event);

    std::vector<TraceEvent> events_;
    std::vector<State> slots_;
    Nanoseconds last_time_ = 0;
    std::uint64_t live_ = 0;
    std::uint64_t most_live_ = 0;
    std::string problem_;
};

}  // namespace tidemark::support
