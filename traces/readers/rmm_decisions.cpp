// rmm-decisions: what one of RMM's resources did, one line an operation, each call that it made to
// its upstream before the operation that caused it:
//
//   U + 154389504 7f53ec000000                        upstream: + taken, - given back; address
//   1 0 154389504 0 7f53ec000000 154389504            op id size stream address held [oom]
//
// op: 1 = allocate, 2 = deallocate (the stream is the one passed to it), 3 = every stream is
// synchronized. Addresses are in hex, 0 for a refusal and what follows from it; `held` is what the
// resource holds from upstream then, 0 where it has none, and is checked. traces/samples/rmm has
// such logs. All of it is kept but times, which the log doesn't have: an operation counts as a
// microsecond. The log's streams are all the program's own: its stream n is handle n + 1, since 0
// is the default stream. Which resource it was the log doesn't say.
#include <array>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "traces/model/event_buffer.h"
#include "traces/readers/format.h"
#include "traces/readers/id_events.h"
#include "traces/readers/line_reader.h"
#include "traces/readers/number_text.h"

namespace tidemark::formats {
namespace {

constexpr Nanoseconds kRmmOperation = 1000;
constexpr std::uint32_t kMostStreams = 1U << 16U;  // no program has more

using Fields = std::array<std::string_view, 8>;

// One line, understood.
struct Decision {
    enum class Kind : std::uint8_t { taken, given_back, allocate, free, synchronize };
    Kind kind = Kind::synchronize;
    std::uint64_t id = 0;
    Bytes size = 0;
    std::uint64_t stream = 0;
    std::uint64_t address = 0;
    Bytes held = 0;
    bool refused = false;
};

bool parse_decision(std::string_view line, Decision& decision) {
    Fields fields;
    const std::size_t count = fields_of(line, fields);
    if (count == 4 && fields[0] == "U") {
        const bool taken = fields[1] == "+";
        decision.kind = taken ? Decision::Kind::taken : Decision::Kind::given_back;
        return (taken || fields[1] == "-") && parse_decimal(fields[2], decision.size) &&
               parse_hex(fields[3], decision.address) && decision.size != 0;
    }
    decision.refused = count == 7 && fields[6] == "oom";
    if (count != (decision.refused ? 7 : 6) || fields[0].size() != 1 || fields[0] < "1" ||
        fields[0] > "3")
        return false;
    constexpr std::array kKinds{Decision::Kind::allocate, Decision::Kind::free,
                                Decision::Kind::synchronize};
    decision.kind = kKinds[static_cast<std::size_t>(fields[0][0] - '1')];
    return parse_decimal(fields[1], decision.id) && parse_decimal(fields[2], decision.size) &&
           parse_decimal(fields[3], decision.stream) && parse_hex(fields[4], decision.address) &&
           parse_decimal(fields[5], decision.held) && decision.stream < kMostStreams &&
           (!decision.refused || decision.address == 0);
}

class RmmDecisions {
  public:
    RmmDecisions(ByteSource& source, TraceSink& sink, const ReadOptions& options)
        : source_(source),
          options_(options),
          lines_(source, options.progress),
          events_(sink),
          lives_(events_, info_.anomalies, options.strict) {
        info_.format = "rmm-decisions";
        info_.source = "an RMM memory resource";
        info_.devices.emplace_back();
        info_.pools.emplace_back("default");
        info_.streams.push_back(0);
    }

    Result<TraceInfo> read();

  private:
    Result<void> apply(const Decision& decision);
    Result<void> apply_upstream(TraceEvent event, bool taken);
    ByteSource& source_;
    const ReadOptions& options_;
    LineReader lines_;
    EventBuffer events_;
    TraceInfo info_;
    IdEvents lives_;
    std::uint64_t operations_ = 0;
    Bytes held_ = 0;
    bool has_upstream_ = false;
};

Result<TraceInfo> RmmDecisions::read() {
    bool last_line_lost = false;
    for (;;) {
        std::string_view line;
        TM_ASSIGN(const bool more, lines_.next(line));
        if (!more)
            break;
        Decision decision;
        if (!lines_.terminated()) {
            last_line_lost = true;  // of a number that is cut nobody can tell
        } else if (parse_decision(line, decision)) {
            TM_TRY(apply(decision));
        } else if (options_.lenient) {
            ++info_.anomalies.bad_records;
        } else {
            return fail(ErrorCode::bad_input,
                        fmt::format("'{}' is no operation, expected 'op id size stream address "
                                    "held [oom]' or 'U +|- bytes address'",
                                    excerpt(line)),
                        lines_.position(), "--lenient skips and counts such lines");
        }
    }
    TM_TRY(events_.flush());
    info_.event_count = events_.count();
    info_.duration = events_.last_time();
    info_.slot_count = lives_.slot_count();
    info_.cut_off = last_line_lost || source_.cut_off();
    if (info_.cut_off)
        info_.warnings.push_back(fmt::format(
            "the file is cut off at line {}: what comes after is missing", lines_.number()));
    return std::move(info_);
}

Result<void> RmmDecisions::apply(const Decision& decision) {
    TraceEvent event;
    event.time = static_cast<Nanoseconds>(operations_) * kRmmOperation;
    event.size = decision.size;
    event.address = decision.address;
    if (decision.kind == Decision::Kind::taken || decision.kind == Decision::Kind::given_back)
        return apply_upstream(event, decision.kind == Decision::Kind::taken);
    ++operations_;
    if (has_upstream_ && decision.held != held_ && !options_.lenient)
        return fail(ErrorCode::bad_input,
                    fmt::format("{} bytes are said to be held, by the calls before it is {}",
                                decision.held, held_),
                    lines_.position(), "the log lacks lines; --lenient reads it all the same");
    if (decision.kind == Decision::Kind::synchronize) {
        event.kind = EventKind::synchronize;
        event.flags = kWholeDevice;
        return events_.add(event);
    }
    while (info_.streams.size() <= decision.stream + 1)
        info_.streams.push_back(info_.streams.size());
    event.stream = StreamId{static_cast<std::uint32_t>(decision.stream) + 1};
    const auto where = [this] { return lines_.position(); };
    if (decision.kind == Decision::Kind::free)
        return lives_.free(event, decision.id, where);
    if (!decision.refused)
        return lives_.allocate(event, decision.id, where);
    event.kind = EventKind::out_of_memory;
    return events_.add(event);
}

Result<void> RmmDecisions::apply_upstream(TraceEvent event, bool taken) {
    event.kind = taken ? EventKind::segment_alloc : EventKind::segment_free;
    held_ = taken ? held_ + event.size : held_ - event.size;
    has_upstream_ = true;
    return events_.add(event);
}

bool recognises_decisions(std::span<const std::byte> head) {
    std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    text = text.substr(0, text.find('\n'));
    if (!text.empty() && text.back() == '\r')
        text.remove_suffix(1);
    Decision decision;
    return parse_decision(text, decision);
}

Result<TraceInfo> read_decisions(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return RmmDecisions(source, sink, options).read();
}

}  // namespace

FormatInfo rmm_decisions() {
    return {"rmm-decisions", "what a resource of RMM did: operations, addresses, upstream calls",
            recognises_decisions, read_decisions};
}

}  // namespace tidemark::formats
