// Sizes of requests are computed once; a cursor hands them out in order.
#include "replay/analysis/scale/grown_trace.h"

#include <utility>

#include <fmt/format.h>

namespace tidemark {
namespace {

class GrownCursor final : public TraceCursor {
  public:
    GrownCursor(std::unique_ptr<TraceCursor> inner, const std::vector<Bytes>& sizes)
        : inner_(std::move(inner)), sizes_(sizes) {}

    Result<EventBatch> next() override {
        TM_ASSIGN(EventBatch batch, inner_->next());
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
    std::unique_ptr<TraceCursor> inner_;
    const std::vector<Bytes>& sizes_;
    std::size_t request_ = 0;
    std::vector<Bytes> size_;
    std::vector<std::uint64_t> addresses_;  // zeros
};

}  // namespace

GrownTrace::GrownTrace(const Trace& trace, const StepRequests& requests, const SizeLaws& laws,
                       const ScaleFactors& growth, UnknownSizes unknown)
    : trace_(trace), info_(trace.info()) {
    sizes_.reserve(requests.requests.size());
    for (std::size_t i = 0; i < requests.requests.size(); ++i)
        sizes_.push_back(laws.grown(requests.requests[i], i, growth, unknown));
    info_.warnings.push_back(
        fmt::format("steps are of {:g} times the batch and {:g} times the length; where the "
                    "recorded system put things is left out",
                    growth.batch, growth.length));
}

std::unique_ptr<TraceCursor> GrownTrace::cursor() const {
    return std::make_unique<GrownCursor>(trace_.cursor(), sizes_);
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

// By what it hands out: factors that come to the same sizes are the same trace.
std::uint64_t GrownTrace::grown(std::uint64_t hash) const {
    for (const Bytes size : sizes_)
        hash = (hash ^ size) * 0x9e3779b97f4a7c15U;
    return hash;
}

}  // namespace tidemark
