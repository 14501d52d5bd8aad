// EventBuffer: collects events one at a time and passes them to a sink several thousand at a time,
// so that virtual calls are rare. For readers and generators. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

class EventBuffer {
  public:
    // `sink` must outlive the buffer.
    explicit EventBuffer(TraceSink& sink) : sink_(sink) {}

    // Amortised O(1). Errors: those of the sink.
    Result<void> add(const TraceEvent& event) {
        events_.push_back(event);
        last_time_ = event.time;
        if (events_.size() == kCapacity) [[unlikely]]
            return flush();
        return {};
    }

    // Passes on what is left; must be called at the end. Errors: those of the sink.
    Result<void> flush() {
        flushed_ += events_.size();
        const Result<void> done = sink_.append(events_);
        events_.clear();
        return done;
    }

    // Events added so far, and the time of the last one (0 = none).
    std::uint64_t count() const { return flushed_ + events_.size(); }

    Nanoseconds last_time() const { return last_time_; }

  private:
    static constexpr std::size_t kCapacity = 4096;

    TraceSink& sink_;
    std::vector<TraceEvent> events_;
    std::uint64_t flushed_ = 0;
    Nanoseconds last_time_ = 0;
};

}  // namespace tidemark
