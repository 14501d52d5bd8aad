// Doubling, then halving.
#include "replay/analysis/condition/events_until.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace tidemark {
namespace {

constexpr std::uint64_t kFirstStretch = 1024;

// The first `left` events of another cursor.
class PrefixCursor final : public TraceCursor {
  public:
    PrefixCursor(std::unique_ptr<TraceCursor> inner, std::uint64_t left)
        : inner_(std::move(inner)), left_(left) {}

    Result<EventBatch> next() override {
        if (left_ == 0)
            return EventBatch{};
        TM_ASSIGN(EventBatch batch, inner_->next());
        batch.count = static_cast<std::size_t>(std::min<std::uint64_t>(batch.count, left_));
        left_ -= batch.count;
        return batch;
    }

  private:
    std::unique_ptr<TraceCursor> inner_;
    std::uint64_t left_;
};

// The first events of a trace, which outlives it.
class PrefixTrace final : public Trace {
  public:
    PrefixTrace(const Trace& trace, std::uint64_t events) : trace_(trace), info_(trace.info()) {
        info_.event_count = events;
    }

    const TraceInfo& info() const override { return info_; }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<PrefixCursor>(trace_.cursor(), info_.event_count);
    }

    std::uint64_t hash() const override { return trace_.hash() ^ info_.event_count; }

  private:
    const Trace& trace_;
    TraceInfo info_;
};

}  // namespace

Result<std::optional<std::uint64_t>> events_until(
    const Trace& trace, const Scenario& scenario, const Condition& condition,
    const RunListeners& listeners, const std::function<void(std::uint64_t)>& progress) {
    const std::uint64_t all = trace.info().event_count;
    std::uint64_t replays = 0;
    const auto replayed = [&](std::uint64_t events) -> Result<Run> {
        if (progress)
            progress(replays++);
        return run(PrefixTrace(trace, events), scenario, listeners);
    };
    std::uint64_t fewer = 0;  // of so many it doesn't hold
    std::uint64_t enough = 0;
    for (std::uint64_t events = std::min(kFirstStretch, all); enough == 0;
         events = events > all / 2 ? all : events * 2) {
        TM_ASSIGN(const Run tried, replayed(events));
        if (condition.holds(tried.measurements))
            enough = events;
        else if (events == all)
            return std::nullopt;
        else
            fewer = events;
    }
    while (enough - fewer > 1) {
        const std::uint64_t middle = fewer + (enough - fewer) / 2;
        TM_ASSIGN(const Run tried, replayed(middle));
        (condition.holds(tried.measurements) ? enough : fewer) = middle;
    }
    return enough;
}

}  // namespace tidemark
