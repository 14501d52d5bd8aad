// DeviceTrace: what happened on one device of a trace. Events keep their indexes: events of other
// devices are still there, but nothing reads them. Marks and ranges, which belong to the program,
// stay.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "traces/model/trace.h"

namespace tidemark {

class DeviceTrace final : public Trace {
  public:
    // `trace` must outlive it.
    DeviceTrace(const Trace& trace, std::size_t device) : trace_(trace), device_(device) {}

    DeviceTrace(std::shared_ptr<const Trace> trace, std::size_t device)
        : owned_(std::move(trace)), trace_(*owned_), device_(device) {}

    std::size_t device() const { return device_; }

    const Trace* passes_on() const override { return &trace_; }

    const TraceInfo& info() const override { return trace_.info(); }

    std::uint64_t hash() const override { return of_device(trace_.hash()); }

    std::uint64_t recorded_hash() const override { return of_device(trace_.recorded_hash()); }

    std::uint64_t file_hash() const override { return of_device(trace_.file_hash()); }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<Cursor>(trace_.cursor(), device_);
    }

  private:
    class Cursor final : public TraceCursor {
      public:
        Cursor(std::unique_ptr<TraceCursor> cursor, std::size_t device)
            : cursor_(std::move(cursor)), device_(device) {}

        Result<EventBatch> next() override {
            TM_ASSIGN(EventBatch batch, cursor_->next());
            kinds_.assign(batch.kind, batch.kind + batch.count);
            for (std::size_t i = 0; i < batch.count; ++i) {
                const bool of_program = kinds_[i] == EventKind::mark ||
                                        kinds_[i] == EventKind::range_begin ||
                                        kinds_[i] == EventKind::range_end;
                if (batch.device[i] != device_ && !of_program)
                    kinds_[i] = EventKind::snapshot;
            }
            batch.kind = kinds_.data();
            return batch;
        }

      private:
        std::unique_ptr<TraceCursor> cursor_;
        std::size_t device_;
        std::vector<EventKind> kinds_;
    };

    std::uint64_t of_device(std::uint64_t hash) const {
        return hash ^ (device_ + 1) * 0x9e3779b97f4a7c15U;
    }

    std::shared_ptr<const Trace> owned_;
    const Trace& trace_;
    std::size_t device_;
};

// The outermost single-device trace that `trace` passes on; null if there is none. O(1).
inline const DeviceTrace* device_trace(const Trace& trace) {
    for (const Trace* at = &trace; at != nullptr; at = at->passes_on())
        if (const auto* const one = dynamic_cast<const DeviceTrace*>(at))
            return one;
    return nullptr;
}

}  // namespace tidemark
