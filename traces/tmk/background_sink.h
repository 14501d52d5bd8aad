// BackgroundSink: hands events to another sink on a thread of its own, so that a reader need not
// wait while they are encoded. The other sink sees the same events in the same order.
//
// To be used by one thread, as any sink; where no second thread can be had, it works without.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"

namespace tidemark {

class BackgroundSink final : public TraceSink {
  public:
    // `target` must outlive this, and belongs to it until finish() or the destructor.
    explicit BackgroundSink(TraceSink& target);
    ~BackgroundSink() override;
    BackgroundSink(const BackgroundSink&) = delete;
    BackgroundSink& operator=(const BackgroundSink&) = delete;

    // Errors: those of the target, of this or an earlier call. Waits while the target is behind by
    // more than a piece.
    Result<void> append(std::span<const TraceEvent> events) override;

    // Waits until the target has everything, then finishes it on this thread.
    Result<void> finish(const TraceInfo& info) override;

  private:
    Result<void> hand_over();
    void stop();
    void work();

    TraceSink& target_;
    std::vector<TraceEvent> filling_;
    std::thread worker_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::vector<TraceEvent> waiting_;  // for the worker; empty = it may be replaced
    Result<void> outcome_;             // the target's first error
    bool stopping_ = false;
};

}  // namespace tidemark
