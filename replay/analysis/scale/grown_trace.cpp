// Sizes of requests are computed once; a cursor returns them in order.
#include "replay/analysis/scale/grown_trace.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "traces/model/event_columns.h"

namespace tidemark {
namespace {

class GrownCursor final : public TraceCursor {
  public:
    // The first `events` of `inner`, then those of `added`.
    GrownCursor(std::unique_ptr<TraceCursor> inner, const std::vector<Bytes>& sizes,
                std::uint64_t events, AddedSteps added)
        : inner_(std::move(inner)), sizes_(sizes), events_(events), added_(std::move(added)) {}

    Result<EventBatch> next() override {
        if (events_ == 0)
            return next_added();
        TM_ASSIGN(EventBatch batch, inner_->next());
        batch.count = static_cast<std::size_t>(std::min<std::uint64_t>(batch.count, events_));
        if (batch.count == 0)
            return batch;
        events_ -= batch.count;
        size_.assign(batch.size, batch.size + batch.count);
        addresses_.resize(batch.count, 0);
        for (std::size_t i = 0; i < batch.count; ++i)
            if (is_step_request(batch.kind[i], batch.flags[i]) && request_ < sizes_.size())
                size_[i] = sizes_[request_++];
        batch.size = size_.data();
        batch.address = addresses_.data();
        return batch;
    }

  private:
    // Steps without an event are passed over.
    EventBatch next_added() {
        while (added_.next(step_))
            if (!step_.empty()) {
                columns_.assign(step_);
                return columns_.batch();
            }
        return {};
    }

    std::unique_ptr<TraceCursor> inner_;
    const std::vector<Bytes>& sizes_;
    std::uint64_t events_;
    AddedSteps added_;
    std::size_t request_ = 0;
    std::vector<Bytes> size_;
    std::vector<std::uint64_t> addresses_;  // zeros
    std::vector<TraceEvent> step_;
    EventColumns columns_;
};

}  // namespace

GrownTrace::GrownTrace(const Trace& trace, const StepRequests& requests, const SizeLaws& laws,
                       const RecordedSteps& steps, GrowthPlan plan)
    : trace_(trace),
      requests_(requests),
      laws_(laws),
      steps_(steps),
      plan_(std::move(plan)),
      info_(trace.info()) {
    const std::size_t kept = requests.steps[plan_.before - 1].end;
    sizes_.reserve(kept);
    for (std::size_t i = 0; i < kept; ++i)
        sizes_.push_back(laws.grown(requests.requests[i], i, plan_.recorded, plan_.unknown));
    info_.warnings.emplace_back(
        "the steps have other sizes than recorded, or there are more; the recorded placement is "
        "left out");
    info_.event_count = steps_.events_of(plan_.before);
    AddedSteps all = added();
    for (std::vector<TraceEvent> events; all.next(events);) {
        info_.event_count += events.size();
        if (!events.empty())
            info_.duration = events.back().time;
    }
    info_.slot_count = std::max(info_.slot_count, all.slot_count());
}

AddedSteps GrownTrace::added() const {
    return AddedSteps(steps_, requests_, laws_, plan_.before, plan_.added, plan_.unknown);
}

std::unique_ptr<TraceCursor> GrownTrace::cursor() const {
    return std::make_unique<GrownCursor>(trace_.cursor(), sizes_, steps_.events_of(plan_.before),
                                         added());
}

Result<TraceInfo> GrownTrace::write(TraceSink& sink) const {
    TraceInfo info = info_;
    info.event_count = 0;
    const std::unique_ptr<TraceCursor> events = cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, events->next());
        if (batch.count == 0)
            return info;
        std::vector<TraceEvent> kept;
        for (std::size_t i = 0; i < batch.count; ++i)
            if (!is_truth(batch.kind[i]) && batch.kind[i] != EventKind::out_of_memory)
                kept.push_back(batch[i]);
        info.event_count += kept.size();
        TM_TRY(sink.append(kept));
    }
}

// By its events: factors that result in the same sizes are the same trace.
std::uint64_t GrownTrace::grown(std::uint64_t hash) const {
    const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U; };
    for (const Bytes size : sizes_)
        mix(size);
    mix(plan_.before);
    mix(std::bit_cast<std::uint64_t>(plan_.unknown));
    for (const AddedStep& added : plan_.added) {
        mix(added.step);
        mix(std::bit_cast<std::uint64_t>(added.growth.batch));
        mix(std::bit_cast<std::uint64_t>(added.growth.length));
    }
    return hash;
}

}  // namespace tidemark
