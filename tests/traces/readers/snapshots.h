// Snapshots for tests: made by hand, or recorded ones, and the plain sequence of what they say.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tests/traces/readers/pickled.h"
#include "tests/traces/readers/strictness.h"
#include "traces/model/trace.h"

namespace tidemark::support {

// A sink that keeps everything.
class EventList final : public TraceSink {
  public:
    Result<void> append(std::span<const TraceEvent> more) override {
        events.insert(events.end(), more.begin(), more.end());
        return {};
    }

    Result<void> finish(const TraceInfo& /*info*/) override { return {}; }

    std::vector<TraceEvent> events;
};

struct ReadTrace {
    std::vector<TraceEvent> events;
    TraceInfo info;

    std::size_t count(EventKind kind) const;
};

// Reads a pickled file in memory, or a file (compressed or not), as torch-snapshot.
Result<ReadTrace> read_snapshot(std::string_view bytes, const ReadOptions& options = {});
Result<ReadTrace> read_snapshot_file(const std::string& path, const ReadOptions& options = {});

// The same for bytes that must be readable, and for the message of those that must not.
ReadTrace must_read(const std::string& bytes, const ReadOptions& options = {});
std::string error_of(const std::string& bytes, const ReadOptions& options = {});

// Uncompressed bytes of a file; none if there is no such file.
std::optional<std::string> file_bytes(const std::string& path);

// One trace entry: what is recorded, and nothing made of it.
struct PlainEntry {
    std::string action;
    std::uint64_t address = 0;
    std::uint64_t size = 0;

    friend bool operator==(const PlainEntry&, const PlainEntry&) = default;
};

// The entries of each device in the order of the file, by the test's own way through the pickle.
std::vector<std::vector<PlainEntry>> plain_entries(std::string_view bytes);

// The same sequence, put together again from the events of a trace.
std::vector<std::vector<PlainEntry>> entries_from_events(const ReadTrace& trace);

// A snapshot by hand: entries {"alloc", address, size}, one per microsecond, on one device.
struct HandMade {
    std::vector<std::string> segments;
    std::vector<std::string> entries;
    pickled::Items more;  // of the outermost dict

    HandMade& segment(std::uint64_t address, std::uint64_t size,
                      const std::vector<std::string>& blocks, pickled::Items extra = {});
    HandMade& entry(std::string_view action, std::uint64_t address, std::uint64_t size,
                    pickled::Items extra = {});

    std::string file() const;
};

std::string block(std::uint64_t address, std::uint64_t size, std::string_view state,
                  std::uint64_t requested);

}  // namespace tidemark::support
