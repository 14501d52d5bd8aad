// CancellableTrace: a trace whose cursors fail as soon as the work is cancelled. That ends
// everything that reads it, in all threads, whether it is one replay or a search over many.
#pragma once

#include <memory>
#include <utility>

#include "traces/model/trace.h"

namespace tidemark {

class CancellableTrace final : public Trace {
  public:
    // `trace` must outlive it.
    CancellableTrace(const Trace& trace, Cancelling cancelled)
        : trace_(trace), cancelled_(std::move(cancelled)) {}

    CancellableTrace(std::unique_ptr<Trace> trace, Cancelling cancelled)
        : owned_(std::move(trace)), trace_(*owned_), cancelled_(std::move(cancelled)) {}

    const Trace* passes_on() const override { return &trace_; }

    const TraceInfo& info() const override { return trace_.info(); }

    std::uint64_t hash() const override { return trace_.hash(); }

    std::uint64_t recorded_hash() const override { return trace_.recorded_hash(); }

    std::uint64_t file_hash() const override { return trace_.file_hash(); }

    // Its next() also gives ErrorCode::cancelled.
    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<Cursor>(trace_.cursor(), cancelled_);
    }

  private:
    class Cursor final : public TraceCursor {
      public:
        Cursor(std::unique_ptr<TraceCursor> cursor, const Cancelling& cancelled)
            : cursor_(std::move(cursor)), cancelled_(cancelled) {}

        Result<EventBatch> next() override {
            if (cancelled_())
                return fail(ErrorCode::cancelled, "the work was cancelled");
            return cursor_->next();
        }

      private:
        std::unique_ptr<TraceCursor> cursor_;
        const Cancelling& cancelled_;
    };

    std::unique_ptr<Trace> owned_;
    const Trace& trace_;
    Cancelling cancelled_;
};

}  // namespace tidemark
