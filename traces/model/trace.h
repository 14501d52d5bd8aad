// Trace: the events of a program's memory and what is known about them, whatever format they came
// in, which can be replayed any number of times. Readers write events into a TraceSink; replays
// read them with a TraceCursor.
//
// A Trace is immutable and threads may share it; a cursor belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "traces/model/event.h"
#include "traces/model/tables.h"

namespace tidemark {

// Oddities that a reader found and skipped. All are counted and reported; `--strict` turns the
// first one into an Error.
struct Anomalies {
    std::uint64_t unknown_frees = 0;  // of an address or id that was never allocated
    std::uint64_t double_frees = 0;   // of one that had been freed
    std::uint64_t reused_live = 0;    // allocated although still live (the older one is closed)
    std::uint64_t zero_sizes = 0;
    std::uint64_t giant_sizes = 0;      // kLargestRequest or more
    std::uint64_t unknown_actions = 0;  // kinds of events that the reader does not know
    std::uint64_t bad_records = 0;      // malformed rows that were skipped (--lenient)
    std::uint64_t backward_times = 0;   // clocks that ran backwards; clamped

    std::uint64_t total() const {
        return unknown_frees + double_frees + reused_live + zero_sizes + giant_sizes +
               unknown_actions + bad_records + backward_times;
    }

    friend bool operator==(const Anomalies&, const Anomalies&) = default;
};

// The device that represents the host's memory in a recording of driver calls, after the GPUs.
constexpr std::string_view kHostMemory = "host memory";

// What made the recording, in its metadata: the key and its value.
constexpr std::string_view kRecorderKey = "recorder";
constexpr std::string_view kDriverCalls = "calls of the CUDA driver";
constexpr std::string_view kProbes = "probes of a running PyTorch";

// What is known of a device that the trace was recorded on.
struct TraceDevice {
    std::string name;        // "" = unknown
    Bytes total_memory = 0;  // 0 = unknown

    bool is_host() const { return name == kHostMemory; }

    friend bool operator==(const TraceDevice&, const TraceDevice&) = default;
};

// Everything about a trace except its events. Complete once the reader has finished.
struct TraceInfo {
    std::string format;  // of the source: "torch-snapshot", "rmm-csv", "jsonl", "generated"
    std::string source;  // what recorded it, as far as the file shows: "torch 2.9 to 2.11"
    std::uint64_t event_count = 0;       // all events, truth included
    std::uint64_t preamble_count = 0;    // the first this many events rebuild what was live before
    std::uint32_t slot_count = 0;        // every slot is below this: the largest live set
    Nanoseconds start_time = 0;          // of the first event, ns since the Unix epoch; 0 = unknown
    Nanoseconds duration = 0;            // time of the last event
    bool begins_inside = false;          // something was live before the first event
    bool cut_off = false;                // the file ended early; its complete part was kept
    std::vector<TraceDevice> devices;    // at least one
    std::vector<std::uint64_t> streams;  // original handle of each StreamId; [0] = 0
    std::vector<std::string> pools;      // original name of each PoolId; [0] = "default"
    std::vector<std::pair<std::string, std::string>> settings;  // of the recorded allocator
    std::vector<std::pair<std::string, std::string>> metadata;  // whatever else the source says
    std::vector<std::string> warnings;                          // sentences for a person
    Anomalies anomalies;
    StringTable strings;
    StackTable stacks;

    // Totals over devices cover only the first this many: all except the host's memory after the
    // GPUs.
    std::size_t gpus() const {
        return devices.size() > 1 && devices.back().is_host() ? devices.size() - 1 : devices.size();
    }

    bool is_host(std::size_t device) const { return device >= gpus() && gpus() < devices.size(); }

    // The value of a setting or metadata key, "" if absent. O(keys).
    std::string_view setting(std::string_view key) const;

    // Whether it is the state at one moment, without a history: all of its events rebuild what was
    // live. O(1).
    bool is_state() const { return event_count > 0 && preamble_count == event_count; }

    // Whether PyTorch's caching allocator managed the memory. O(keys).
    bool from_torch() const;

    // Whether it consists of a program's calls of the CUDA driver (`tidemark record`). O(keys).
    bool from_driver() const;
};

// Takes events in order of time, in batches of any size, and the information at the end.
class TraceSink {
  public:
    virtual ~TraceSink() = default;

    // Errors: those of its target (io). Amortised O(events).
    virtual Result<void> append(std::span<const TraceEvent> events) = 0;

    // Called once, after the last append, by whoever runs the reader.
    virtual Result<void> finish(const TraceInfo& info) = 0;
};

// Walks a trace from its start to its end.
class TraceCursor {
  public:
    virtual ~TraceCursor() = default;

    // The next events as columns (about ten thousand at a time); count == 0 is the end. The batch
    // is valid until the next call. Errors (bad_input): a chunk with a wrong checksum.
    virtual Result<EventBatch> next() = 0;
};

class Trace {
  public:
    virtual ~Trace() = default;

    // The trace that this one only passes on; null: the events are its own.
    virtual const Trace* passes_on() const { return nullptr; }

    virtual const TraceInfo& info() const = 0;

    // A new cursor at the start. Cheap; the trace must outlive it. Thread-safe.
    virtual std::unique_ptr<TraceCursor> cursor() const = 0;

    // 64-bit xxHash of the content: the same content has the same hash, whatever file it came
    // from. O(1) after opening.
    virtual std::uint64_t hash() const = 0;

    // The same for the content as it was recorded, before anything was inferred.
    virtual std::uint64_t recorded_hash() const { return hash(); }

    // A hash of the checksums in its file. hash() is what a file claims: a file that was made to
    // claim the hash of another differs here, or can't be read to its end. O(chunks).
    virtual std::uint64_t file_hash() const { return hash(); }
};

// Whether work should end early, with ErrorCode::cancelled. Called now and then, by any thread.
using Cancelling = std::function<bool()>;

// How a reader treats problems, and to whom it reports progress.
struct ReadOptions {
    bool strict = false;   // the first anomaly is an Error
    bool lenient = false;  // malformed records are skipped and counted instead of an Error
    std::optional<std::size_t> part = {};  // of a file that holds several recordings, from 0
    std::function<void(std::uint64_t bytes_done)> progress;  // now and then; may be empty
    Cancelling cancelled = {};                               // may be empty
};

}  // namespace tidemark
