// Writes the events of a snapshot to the sink, with streams, pools, strings and stacks numbered in
// the order in which events mention them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "traces/model/trace.h"
#include "traces/readers/torch_records.h"

namespace tidemark::torch {

class Output {
  public:
    // A Context in the trace's indexes.
    struct Resolved {
        StreamId stream = StreamId::default_stream;
        std::uint32_t stack = 0;
        std::uint32_t tag = 0;
        std::uint32_t pool = 0;
        bool known = false;
    };

    // All must outlive the output; the records may no longer change.
    Output(const Records& records, TraceSink& sink, TraceInfo& info);

    // The next event, to be filled in at its final location (copying what has just been written in
    // small parts costs more than writing it), and its end. Amortised O(1). Errors of the sink show
    // at the next good() or flush().
    TraceEvent& draft() { return batch_[size_] = {}; }

    void commit() {
        if (++size_ == kBatch) [[unlikely]]
            pass_on();
    }

    void add(const TraceEvent& event) {
        batch_[size_] = event;
        commit();
    }

    const Resolved& context(std::uint32_t index) {
        Resolved& resolved = contexts_[index];
        if (!resolved.known) [[unlikely]]
            resolve(index);
        return resolved;
    }

    StreamId stream(std::uint32_t index);       // of Records::streams
    std::uint32_t pool(std::uint32_t index);    // of Records::pools
    std::uint32_t string(std::uint32_t index);  // of the pickle's strings, kNone = ""
    std::uint32_t stack(std::uint32_t list);    // of the pickle's lists, kNone = no stack

    std::uint64_t count() const { return passed_on_ + size_; }

    // Of the last event that has been passed on; after a flush, of all events.
    Nanoseconds last_time() const { return last_time_; }

    bool good() const { return status_.has_value(); }

    Result<void> flush();

  private:
    static constexpr std::size_t kBatch = 1024;  // 48 KiB

    void pass_on();
    void resolve(std::uint32_t index);
    std::uint32_t tag(const Context& context);

    const Records& records_;
    TraceInfo& info_;
    TraceSink& sink_;
    std::vector<TraceEvent> batch_ = std::vector<TraceEvent>(kBatch);
    std::size_t size_ = 0;  // events in the batch
    std::uint64_t passed_on_ = 0;
    Nanoseconds last_time_ = 0;
    Result<void> status_;  // the first error
    std::vector<Resolved> contexts_;
    std::vector<std::uint32_t> streams_;  // by index in the file; kNone = not mentioned yet
    std::vector<std::uint32_t> pools_;
    std::vector<std::uint32_t> strings_;
    std::vector<std::uint32_t> stacks_;
    std::vector<Frame> frames_;
};

}  // namespace tidemark::torch
