// rmm-csv: a trace as the log that RMM's logging_resource_adaptor would have written, for RMM's own
// replay and for other readers of such logs.
//
// The format has allocations, frees and failed requests, one thread, microseconds. A pointer is the
// recorded address or, if none was recorded, one made from the slot: unique while the block is
// live. A free is written where the program frees the block. Preambles are written as ordinary
// allocations.
#include <vector>

#include "traces/writers/text_output.h"
#include "traces/writers/writer.h"

namespace tidemark::writers {
namespace {

constexpr Nanoseconds kMicrosecond = 1000;
constexpr Nanoseconds kSecond = 1'000'000 * kMicrosecond;
constexpr Nanoseconds kDay = 24 * 3600 * kSecond;

// Since midnight; also for a time before 0.
Nanoseconds time_of_day(Nanoseconds time) {
    return (time % kDay + kDay) % kDay;
}

struct Live {
    bool live = false;
    std::uint64_t pointer = 0;
    Bytes size = 0;
};

class RmmCsvWriter {
  public:
    RmmCsvWriter(const Trace& trace, OutputFile& file)
        : trace_(trace), info_(trace.info()), out_(file), live_(info_.slot_count) {}

    Result<WriteSummary> write() {
        out_.append("Thread,Time,Action,Pointer,Size,Stream\n");
        const auto cursor = trace_.cursor();
        for (;;) {
            TM_ASSIGN(const EventBatch batch, cursor->next());
            if (batch.count == 0)
                break;
            for (std::size_t i = 0; i < batch.count; ++i) {
                write_event(batch[i]);
                TM_TRY(out_.spill());
            }
        }
        TM_TRY(out_.flush());
        return summary_;
    }

  private:
    void write_event(const TraceEvent& event) {
        if (is_truth(event.kind)) {
            ++summary_.left_out_truth;
            return;
        }
        ++(write_row(event) ? summary_.written : summary_.left_out_events);
    }

    bool write_row(const TraceEvent& event) {
        if (event.kind == EventKind::out_of_memory) {
            row(event, "allocate failure", 0, event.size);
            return true;
        }
        if (event.slot >= live_.size() || (event.flags & kTierMask) != 0)
            return false;
        Live& live = live_[event.slot];
        const bool ends = event.kind == EventKind::free || event.kind == EventKind::retire;
        const bool begins = event.kind == EventKind::allocate;
        if (live.live && (ends || begins)) {
            row(event, "free", live.pointer, live.size);
            live.live = false;
        } else if (ends) {
            return false;
        }
        if (begins) {
            live = {true, pointer_of(event), event.size};
            row(event, "allocate", live.pointer, live.size);
        }
        return begins || ends;
    }

    static std::uint64_t pointer_of(const TraceEvent& event) {
        // No device has addresses there, so the two kinds do not collide.
        constexpr std::uint64_t kMadeUp = std::uint64_t{1} << 63U;
        return event.address != 0 ? event.address : kMadeUp + std::uint64_t{event.slot} * 256;
    }

    void row(const TraceEvent& event, std::string_view action, std::uint64_t pointer, Bytes size) {
        const Nanoseconds time = (time_of_day(info_.start_time) + time_of_day(event.time)) % kDay;
        const Nanoseconds seconds = time / kSecond;
        out_.print(FMT_COMPILE("0,{:02}:{:02}:{:02}.{:06},{},"), seconds / 3600, seconds / 60 % 60,
                   seconds % 60, time % kSecond / kMicrosecond, action);
        if (pointer == 0)
            out_.append("(nil)");
        else
            out_.print(FMT_COMPILE("0x{:x}"), pointer);
        const std::uint32_t stream = to_integer(event.stream);
        out_.print(FMT_COMPILE(",{},0x{:x}\n"), size,
                   stream < info_.streams.size() ? info_.streams[stream] : stream);
    }

    const Trace& trace_;
    const TraceInfo& info_;
    TextOutput out_;
    std::vector<Live> live_;  // by slot
    WriteSummary summary_;
};

Result<WriteSummary> write_rmm(const Trace& trace, OutputFile& output) {
    return RmmCsvWriter(trace, output).write();
}

}  // namespace

WriterInfo rmm_csv() {
    return {"rmm-csv", ".csv", "RMM's log: allocations and frees only", write_rmm};
}

}  // namespace tidemark::writers
