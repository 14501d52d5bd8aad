// driver-pool: what the CUDA driver's stream-ordered pool did, one line a call:
//
//   1 0 302000000 33554432 2662143       op id address reserved used [stream=N] [oom]
//
// op: 1 = cudaMallocAsync, 2 = cudaFreeAsync, 3 = cudaDeviceSynchronize. Addresses are in hex;
// `reserved` and `used` are the pool's attributes after the call, in bytes: the size of an
// allocation is what `used` grows by. Streams are the program's own: N is handle N + 1, and 0 where
// a line names none. The log has no times: a call counts as a microsecond.
// traces/samples/driver-pool has such logs.
//
// Two things the log doesn't say are found in it. Whoever wrote the logs of pools with a threshold
// synchronized after every 500 calls besides: if memory goes back at such a line, which nothing
// else explains, that is put in. And the release threshold: if memory goes back, the least that is
// left then, at which everything happens as it did (the setting `release_threshold`); else "max".
// So the log is held in memory until its end: O(lines).
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "traces/model/event_buffer.h"
#include "traces/readers/format.h"
#include "traces/readers/id_events.h"
#include "traces/readers/line_reader.h"
#include "traces/readers/number_text.h"

namespace tidemark::formats {
namespace {

constexpr Nanoseconds kPoolCall = 1000;
constexpr std::uint64_t kSilentWait = 500;  // calls from one to the next
constexpr std::uint64_t kMostPoolStreams = 1U << 16U;
constexpr Bytes kPoolChunk = 32_MiB;  // what the driver's pool grows by
constexpr std::string_view kStreamField = "stream=";

struct PoolCall {
    std::uint64_t op = 0;
    std::uint64_t id = 0;
    std::uint64_t address = 0;
    Bytes reserved = 0;
    Bytes used = 0;
    std::uint64_t stream = 0;
    std::uint64_t line = 0;
    bool refused = false;
};

bool parse_pool_call(std::string_view line, PoolCall& call) {
    std::array<std::string_view, 7> fields;
    std::size_t count = fields_of(line, fields);
    call.refused = count > 5 && fields[count - 1] == "oom";
    count -= call.refused ? 1 : 0;
    if (count == 6) {
        if (!fields[5].starts_with(kStreamField) ||
            !parse_decimal(fields[5].substr(kStreamField.size()), call.stream))
            return false;
        --count;
    }
    return count == 5 && parse_decimal(fields[0], call.op) && call.op >= 1 && call.op <= 3 &&
           parse_decimal(fields[1], call.id) && parse_hex(fields[2], call.address) &&
           parse_decimal(fields[3], call.reserved) && parse_decimal(fields[4], call.used) &&
           call.stream < kMostPoolStreams && (!call.refused || call.address == 0);
}

// As an option says it: whole MiB where they are.
std::string size_text(Bytes size) {
    return size != 0 && size % 1_MiB == 0 ? fmt::format("{}MiB", size / 1_MiB)
                                          : fmt::format("{}", size);
}

class DriverPoolLog {
  public:
    DriverPoolLog(ByteSource& source, TraceSink& sink, const ReadOptions& options)
        : source_(source),
          options_(options),
          events_(sink),
          lives_(events_, info_.anomalies, options.strict) {
        info_.format = "driver-pool";
        info_.source = "the CUDA driver's stream-ordered pool";
        info_.devices.emplace_back();
        info_.pools.emplace_back("default");
        info_.streams.push_back(0);
    }

    Result<TraceInfo> read() {
        TM_TRY(read_calls());
        TM_TRY(find_waits());
        for (std::size_t i = 0; i < calls_.size(); ++i)
            TM_TRY(add(i));
        TM_TRY(events_.flush());
        info_.event_count = events_.count();
        info_.duration = events_.last_time();
        info_.slot_count = lives_.slot_count();
        if (refusals_ != 0)
            info_.warnings.push_back(
                fmt::format("{} requests were refused; the log doesn't say their sizes, so they "
                            "are left out",
                            refusals_));
        return std::move(info_);
    }

  private:
    Result<void> read_calls();
    Result<void> find_waits();
    Result<void> add(std::size_t number);
    Result<void> add_allocation(const PoolCall& call, TraceEvent event, Bytes used_before);

    std::string position(const PoolCall& call) const {
        return fmt::format("{}:{}", source_.name(), call.line);
    }

    bool waits_silently(std::size_t number) const {
        return silent_waits_ && (number + 1) % kSilentWait == 0;
    }

    ByteSource& source_;
    const ReadOptions& options_;
    EventBuffer events_;
    TraceInfo info_;
    IdEvents lives_;
    std::vector<PoolCall> calls_;
    bool silent_waits_ = false;
    std::uint64_t refusals_ = 0;
};

Result<void> DriverPoolLog::read_calls() {
    LineReader lines(source_, options_.progress);
    bool last_line_lost = false;
    for (;;) {
        std::string_view line;
        TM_ASSIGN(const bool more, lines.next(line));
        if (!more)
            break;
        PoolCall call;
        call.line = lines.number();
        if (!lines.terminated()) {
            last_line_lost = true;  // of a number that is cut nobody can tell
        } else if (parse_pool_call(line, call)) {
            calls_.push_back(call);
        } else if (options_.lenient) {
            ++info_.anomalies.bad_records;
        } else {
            return fail(ErrorCode::bad_input,
                        fmt::format("'{}' is no call, expected 'op id address reserved used "
                                    "[stream=N] [oom]'",
                                    excerpt(line)),
                        lines.position(), "--lenient skips and counts such lines");
        }
    }
    info_.cut_off = last_line_lost || source_.cut_off();
    if (info_.cut_off)
        info_.warnings.push_back(fmt::format(
            "the file is cut off at line {}: what comes after is missing", lines.number()));
    return {};
}

Result<void> DriverPoolLog::find_waits() {
    std::optional<Bytes> least;
    Bytes before = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        const PoolCall& call = calls_[i];
        if (call.reserved < before) {
            least = std::min(least.value_or(call.reserved), call.reserved);
            if (call.op != 3 && (i + 1) % kSilentWait == 0)
                silent_waits_ = true;
            else if (call.op != 3 && !options_.lenient)
                return fail(ErrorCode::bad_input, "the pool gives memory back where nobody waits",
                            position(call), "--lenient reads it all the same");
        }
        before = call.reserved;
    }
    info_.settings.emplace_back("release_threshold", least ? size_text(*least) : "max");
    return {};
}

Result<void> DriverPoolLog::add(std::size_t number) {
    const PoolCall& call = calls_[number];
    TraceEvent event;
    event.time = static_cast<Nanoseconds>(number) * kPoolCall;
    const TraceEvent wait{
        .time = event.time, .kind = EventKind::synchronize, .flags = kWholeDevice};
    event.address = call.address;
    while (info_.streams.size() <= call.stream + 1)
        info_.streams.push_back(info_.streams.size());
    event.stream = StreamId{static_cast<std::uint32_t>(call.stream) + 1};
    if (call.op == 1)
        TM_TRY(add_allocation(call, event, number == 0 ? 0 : calls_[number - 1].used));
    else if (call.op == 2)
        TM_TRY(lives_.free(event, call.id, [&] { return position(call); }));
    else
        TM_TRY(events_.add(wait));
    if (waits_silently(number))
        TM_TRY(events_.add(wait));
    return events_.add({.time = event.time, .size = call.reserved, .kind = EventKind::pool_held});
}

Result<void> DriverPoolLog::add_allocation(const PoolCall& call, TraceEvent event,
                                           Bytes used_before) {
    if (call.refused) {
        ++refusals_;
        return {};
    }
    if (call.used < used_before)
        return fail(ErrorCode::bad_input, "an allocation after which less is used", position(call),
                    "its size is what `used` grows by");
    event.size = call.used - used_before;
    return lives_.allocate(event, call.id, [&] { return position(call); });
}

// CuPy's logs look alike, but its totals are no multiples of chunks, soon at least.
bool recognises_pool_calls(std::span<const std::byte> head) {
    std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    std::size_t lines = 0;
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        PoolCall call;
        if (!parse_pool_call(line, call) || call.reserved % kPoolChunk != 0)
            return false;
        ++lines;
    }
    return lines > 0;
}

Result<TraceInfo> read_pool_calls(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return DriverPoolLog(source, sink, options).read();
}

}  // namespace

FormatInfo driver_pool() {
    return {"driver-pool", "what the CUDA driver's stream-ordered pool did, call by call",
            recognises_pool_calls, read_pool_calls};
}

}  // namespace tidemark::formats
