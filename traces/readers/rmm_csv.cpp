// rmm-csv: the log of RMM's logging_resource_adaptor, as written since 2020, and RMM's log before:
//
//   Thread,Time,Action,Pointer,Size,Stream
//   30,10:20:30.123456,allocate,0x7f1234000000,1048576,0x0
//
//   Event Type,Device ID,Address,Stream,Size (bytes),...,Start,End,Elapsed,Location
//   Alloc,0,0x7f1000000000,0,4096,...,1.10,1.11,0.01,program.py:1
//
// Columns are found by name, in any order; spaces, quotes, a byte order mark and CRLF are fine. The
// order of the rows is the order of events. Time is seconds, or a wall clock without a date: a step
// back by more than twelve hours is midnight, a smaller one is clamped and counted. Pointers are
// 0x...; "(nil)", "0" or nothing mean null. The stream is the handle's number, in hex or decimal;
// every spelling of zero is the default stream, all other handles (0x1 legacy, 0x2 per thread) stay
// distinct. A null pointer for zero bytes is not an allocation: it is counted and left out. A last
// row that is cut by the end of the file is dropped, with a warning.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"
#include "traces/model/event_buffer.h"
#include "traces/readers/format.h"
#include "traces/readers/line_reader.h"
#include "traces/readers/number_text.h"

namespace tidemark::formats {
namespace {

enum Column : std::size_t { kThread, kTime, kAction, kPointer, kSize, kStream };

using ColumnNames = std::array<std::string_view, 6>;

constexpr ColumnNames kNames{"Thread", "Time", "Action", "Pointer", "Size", "Stream"};
constexpr ColumnNames kNamesBefore2020{"",        "Start",        "Event Type",
                                       "Address", "Size (bytes)", "Stream"};
constexpr std::size_t kMostColumns = 32;
constexpr std::size_t kAbsent = kMostColumns;
constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kHour = 3600 * kSecond;
constexpr Nanoseconds kDay = 24 * kHour;

constexpr Nanoseconds kYear2001 = 1'000'000'000 * kSecond;  // later ones are times since 1970
constexpr Nanoseconds kMostMidnights = 36'500 * kDay;       // a century, far from overflow

using Row = std::array<std::string_view, kMostColumns + 1>;  // the last stays empty: kAbsent

// Without the spaces and the quotes around it.
std::string_view strip(std::string_view text) {
    constexpr std::string_view kLetters = " \t\"";
    while (!text.empty() && kLetters.find(text.front()) != kLetters.npos)
        text.remove_prefix(1);
    while (!text.empty() && kLetters.find(text.back()) != kLetters.npos)
        text.remove_suffix(1);
    return text;
}

inline std::string_view bare(std::string_view text) {
    const bool clean = text.empty() || (text.front() > '"' && text.back() > '"');
    return clean ? text : strip(text);
}

// A mask with the top bit of every byte of `word` that is a comma.
std::uint64_t commas_in(std::uint64_t word) {
    constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7fU;
    const std::uint64_t other = word ^ 0x2c2c2c2c2c2c2c2cU;
    return ~(((other & kLow) + kLow) | other | kLow);
}

// The number of columns; more than kMostColumns are counted but not kept.
std::size_t split(std::string_view line, Row& row) {
    std::size_t count = 0;
    const char* begin = line.data();
    const char* const end = begin + line.size();
    const auto take = [&](const char* at) {
        if (count < kMostColumns)
            row[count] = bare({begin, static_cast<std::size_t>(at - begin)});
        ++count;
        begin = at + 1;
    };
    const char* at = begin;
    for (; end - at >= 8; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, 8);
        for (std::uint64_t commas = commas_in(word); commas != 0; commas &= commas - 1)
            take(at + std::countr_zero(commas) / 8);
    }
    for (; at != end; ++at) {
        if (*at == ',')
            take(at);
    }
    take(end);
    return count;
}

// "HH:MM:SS"; `text` has at least these eight letters.
bool parse_clock(std::string_view text, Nanoseconds& time) {
    const auto pair = [text](std::size_t at, Nanoseconds limit) -> Nanoseconds {
        const int high = text[at] - '0';
        const int low = text[at + 1] - '0';
        if (high < 0 || high > 9 || low < 0 || low > 9 || high * 10 + low >= limit)
            return -1;
        return high * 10 + low;
    };
    const Nanoseconds hours = pair(0, 24);
    const Nanoseconds minutes = pair(3, 60);
    const Nanoseconds seconds = pair(6, 61);  // leap seconds exist
    time = ((hours * 60 + minutes) * 60 + seconds) * kSecond;
    return hours >= 0 && minutes >= 0 && seconds >= 0 && text[2] == ':' && text[5] == ':';
}

// What follows the clock: nothing, or up to nine digits after '.' (or ':', as early versions
// wrote); added to `time`.
bool parse_fraction(std::string_view text, Nanoseconds& time) {
    if (text.empty())
        return true;
    if ((text[0] != '.' && text[0] != ':') || text.size() < 2 || text.size() > 10)
        return false;
    Nanoseconds unit = kSecond;
    for (const char digit : text.substr(1)) {
        if (digit < '0' || digit > '9')
            return false;
        unit /= 10;
        time += (digit - '0') * unit;
    }
    return true;
}

// Seconds with up to nine decimals, below 2^33 of them.
bool parse_seconds(std::string_view text, Nanoseconds& time) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    std::uint64_t seconds = 0;
    if (!parse_decimal(text.substr(0, dot), seconds) || seconds >> 33U != 0)
        return false;
    time = static_cast<Nanoseconds>(seconds) * kSecond;
    return parse_fraction(text.substr(dot), time);
}

// A pointer or a stream's handle; every way to write null is 0.
bool parse_handle(std::string_view text, bool allow_decimal, std::uint64_t& value) {
    value = 0;
    if (text.starts_with("0x") || text.starts_with("0X"))
        return parse_hex(text.substr(2), value);
    if (text.empty() || text == "(nil)" || text == "0" || text == "nullptr" || text == "NULL")
        return true;
    return allow_decimal && parse_decimal(text, value);
}

bool is_old_header(std::string_view line) {
    return line.find("Event Type") != line.npos && line.find("Device ID") != line.npos;
}

enum class Action : std::uint8_t { allocate, failure, free, unknown };

// One parsed row.
struct LogEntry {
    Action action = Action::unknown;
    Nanoseconds time_of_day = 0;
    std::uint64_t pointer = 0;
    Bytes size = 0;
    std::uint64_t stream = 0;
};

Action parse_action(std::string_view text) {
    if (text == "allocate" || text == "Alloc")
        return Action::allocate;
    if (text == "free" || text == "deallocate" || text == "Free")
        return Action::free;
    return text == "allocate failure" ? Action::failure : Action::unknown;
}

// Maps a pointer that occurred before to the slot of its live block, or to kDead.
constexpr std::uint32_t kDead = kNoSlot - 1;

class RmmCsv {
  public:
    RmmCsv(ByteSource& source, TraceSink& sink, const ReadOptions& options)
        : source_(source), options_(options), lines_(source, options.progress), events_(sink) {
        info_.format = "rmm-csv";
        info_.source = "RMM logging_resource_adaptor";
        info_.devices.emplace_back();
        info_.pools.emplace_back("default");
        info_.streams.push_back(0);
        streams_.insert(0, 0);
    }

    Result<TraceInfo> read();

  private:
    Result<void> read_header();
    bool parse(std::string_view line, LogEntry& record);
    bool parse_time(Nanoseconds& time);
    std::string explain(std::string_view line);
    Result<void> apply(const LogEntry& record);
    Result<void> allocate(TraceEvent event, std::uint64_t pointer);
    Result<void> free(TraceEvent event, std::uint64_t pointer);
    Result<Nanoseconds> elapsed(Nanoseconds time_of_day);
    StreamId stream_of(std::uint64_t handle);
    void note_thread(std::string_view text);
    void conclude();

    // Counts an oddity, or refuses it if options.strict.
    Result<void> odd(std::uint64_t& counter, std::string_view what) {
        ++counter;
        if (options_.strict)
            return fail(ErrorCode::bad_input, std::string(what), lines_.position(),
                        "without --strict it is counted and reading continues");
        return {};
    }

    ByteSource& source_;
    const ReadOptions& options_;
    LineReader lines_;
    EventBuffer events_;
    TraceInfo info_;
    const ColumnNames* names_ = &kNames;
    std::array<std::size_t, kNames.size()> columns_{};  // where each is
    std::size_t column_count_ = 0;
    Row row_{};

    HashIndex pointers_;
    VacantIds slots_;
    HashIndex streams_;
    std::uint64_t last_stream_ = 0;  // a handle, and what it maps to
    StreamId last_stream_id_ = StreamId::default_stream;
    HashIndex threads_;
    std::string last_thread_;

    std::array<char, 8> last_clock_{};  // "HH:MM:SS", and its value
    Nanoseconds last_clock_time_ = 0;
    bool seconds_ = false;          // times are seconds, of a clock without midnights
    Nanoseconds midnights_ = 0;     // passed so far, as a time
    Nanoseconds last_of_day_ = -1;  // -1: no row yet
    Nanoseconds first_ = 0;         // time of the first row
    Nanoseconds latest_ = 0;        // since then; never decreasing
    std::uint64_t nulls_ = 0;
    bool last_row_lost_ = false;
};

Result<void> RmmCsv::read_header() {
    std::string_view line;
    TM_ASSIGN(const bool more, lines_.next(line));
    if (!more)
        return fail(ErrorCode::bad_input, "the file is empty", source_.name());
    if (is_old_header(line))
        names_ = &kNamesBefore2020;
    column_count_ = split(line, row_);
    if (column_count_ > kMostColumns)
        return fail(ErrorCode::bad_input, "a header of more than 32 columns", lines_.position());
    columns_.fill(kAbsent);
    for (std::size_t name = 0; name < kNames.size(); ++name) {
        for (std::size_t i = 0; i < column_count_; ++i) {
            if (row_[i] == (*names_)[name])
                columns_[name] = i;
        }
        if (columns_[name] == kAbsent && name != kThread)
            return fail(ErrorCode::bad_input,
                        fmt::format("the header has no column '{}'", (*names_)[name]),
                        lines_.position(), "expected Thread,Time,Action,Pointer,Size,Stream");
    }
    return {};
}

Result<TraceInfo> RmmCsv::read() {
    TM_TRY(read_header());
    for (;;) {
        std::string_view line;
        TM_ASSIGN(const bool more, lines_.next(line));
        if (!more)
            break;
        LogEntry record;
        if (parse(line, record) && (lines_.terminated() || !source_.cut_off())) [[likely]] {
            TM_TRY(apply(record));
        } else if (!lines_.terminated()) {
            last_row_lost_ = true;
        } else if (line.empty()) {
            continue;
        } else if (options_.lenient) {
            ++info_.anomalies.bad_records;
        } else {
            return fail(ErrorCode::bad_input, explain(line), lines_.position(),
                        "--lenient skips and counts such rows");
        }
    }
    TM_TRY(events_.flush());
    conclude();
    return std::move(info_);
}

// False if the row does not match the header; explain() says why.
bool RmmCsv::parse(std::string_view line, LogEntry& record) {
    if (split(line, row_) != column_count_)
        return false;
    record.action = parse_action(row_[columns_[kAction]]);
    const std::string_view size = row_[columns_[kSize]];
    return parse_time(record.time_of_day) &&
           parse_handle(row_[columns_[kPointer]], false, record.pointer) &&
           parse_decimal(size, record.size) &&
           parse_handle(row_[columns_[kStream]], true, record.stream) &&
           (record.pointer != 0 || record.size == 0 || record.action != Action::allocate);
}

// The row's time of day. Rows of the same second share their clock, which is read once.
bool RmmCsv::parse_time(Nanoseconds& time) {
    const std::string_view text = row_[columns_[kTime]];
    if (seconds_ || (last_of_day_ < 0 && text.find(':') == text.npos)) {
        seconds_ = true;
        return parse_seconds(text, time);
    }
    if (text.size() < last_clock_.size())
        return false;
    if (std::memcmp(text.data(), last_clock_.data(), last_clock_.size()) != 0) {
        Nanoseconds clock = 0;
        if (!parse_clock(text, clock))
            return false;
        last_clock_time_ = clock;
        std::memcpy(last_clock_.data(), text.data(), last_clock_.size());
    }
    time = last_clock_time_;
    return parse_fraction(text.substr(last_clock_.size()), time);
}

std::string RmmCsv::explain(std::string_view line) {
    const std::size_t count = split(line, row_);
    if (count != column_count_)
        return fmt::format("a row of {} columns where the header has {}", count, column_count_);
    LogEntry record;
    const auto quoted = [this](Column column) { return excerpt(row_[columns_[column]]); };
    if (!parse_time(record.time_of_day))
        return fmt::format("'{}' is not a time, expected {}", quoted(kTime),
                           seconds_ ? "seconds" : "HH:MM:SS.microseconds");
    if (!parse_handle(row_[columns_[kPointer]], false, record.pointer))
        return fmt::format("'{}' is not a pointer, expected 0x...", quoted(kPointer));
    if (!parse_decimal(row_[columns_[kSize]], record.size))
        return fmt::format("'{}' is not a size, expected bytes below 2^64", quoted(kSize));
    if (!parse_handle(row_[columns_[kStream]], true, record.stream))
        return fmt::format("'{}' is not a stream, expected 0x... or a number", quoted(kStream));
    return fmt::format("an allocation of {} bytes at a null pointer", record.size);
}

Result<void> RmmCsv::apply(const LogEntry& record) {
    TraceEvent event;
    TM_ASSIGN(event.time, elapsed(record.time_of_day));
    event.stream = stream_of(record.stream);
    event.address = record.pointer;
    note_thread(row_[columns_[kThread]]);
    switch (record.action) {
        case Action::allocate:
            event.size = record.size;
            return allocate(event, record.pointer);
        case Action::free:
            return free(event, record.pointer);
        case Action::failure:
            event.kind = EventKind::out_of_memory;
            event.size = record.size;
            event.address = 0;
            return events_.add(event);
        case Action::unknown:
            break;
    }
    return odd(info_.anomalies.unknown_actions,
               fmt::format("unknown action '{}'", excerpt(row_[columns_[kAction]])));
}

Result<void> RmmCsv::allocate(TraceEvent event, std::uint64_t pointer) {
    if (event.size == 0)
        TM_TRY(odd(info_.anomalies.zero_sizes, "an allocation of 0 bytes"));
    if (event.size >= kLargestRequest)
        TM_TRY(odd(info_.anomalies.giant_sizes, "an allocation of 2^60 bytes or more"));
    if (pointer == 0) {
        ++nulls_;
        return {};
    }
    event.slot = slots_.take();
    const std::uint32_t before = pointers_.exchange(pointer, event.slot);
    if (before != kNoSlot && before != kDead) {
        TM_TRY(odd(info_.anomalies.reused_live,
                   fmt::format("{:#x} is allocated while it is still live", pointer)));
        TraceEvent end = event;
        end.kind = EventKind::free;
        end.slot = before;
        end.size = 0;
        TM_TRY(events_.add(end));
        slots_.give_back(before);
    }
    event.kind = EventKind::allocate;
    return events_.add(event);
}

Result<void> RmmCsv::free(TraceEvent event, std::uint64_t pointer) {
    if (pointer == 0)
        return {};  // as in C: no effect
    event.kind = EventKind::free;
    const std::uint32_t slot = pointers_.exchange(pointer, kDead);
    if (slot == kNoSlot) {
        TM_TRY(odd(info_.anomalies.unknown_frees,
                   fmt::format("{:#x} is freed but was never allocated", pointer)));
    } else if (slot == kDead) {
        TM_TRY(odd(info_.anomalies.double_frees, fmt::format("{:#x} is freed twice", pointer)));
    } else {
        event.slot = slot;
        slots_.give_back(slot);
    }
    return events_.add(event);
}

// Time since the first row, made to never decrease.
Result<Nanoseconds> RmmCsv::elapsed(Nanoseconds time_of_day) {
    if (last_of_day_ < 0)
        first_ = last_of_day_ = time_of_day;
    const Nanoseconds step = seconds_ ? 0 : time_of_day - last_of_day_;
    Nanoseconds time = midnights_ + time_of_day - first_;
    if (step < -kDay / 2 && midnights_ < kMostMidnights) {
        midnights_ += kDay;
        time += kDay;
    } else if (step > kDay / 2 && midnights_ > 0 && latest_ + first_ < midnights_ + kHour) {
        time -= kDay;  // a row from before the midnight that has just been passed
        time_of_day = last_of_day_;
    }
    last_of_day_ = time_of_day;
    if (time < latest_)
        TM_TRY(odd(info_.anomalies.backward_times, "time runs backwards"));
    latest_ = std::max(latest_, time);
    return latest_;
}

StreamId RmmCsv::stream_of(std::uint64_t handle) {
    if (handle == last_stream_) [[likely]]
        return last_stream_id_;
    std::uint32_t id = streams_.find(handle);
    if (id == kNoSlot) {
        id = static_cast<std::uint32_t>(info_.streams.size());
        info_.streams.push_back(handle);
        streams_.insert(handle, id);
    }
    last_stream_ = handle;
    last_stream_id_ = StreamId{id};
    return last_stream_id_;
}

// Threads are only counted: events have no field for them.
void RmmCsv::note_thread(std::string_view text) {
    if (text == last_thread_) [[likely]]
        return;
    last_thread_ = text;
    std::uint64_t number = 0;
    if (parse_decimal(text, number) || parse_handle(text, false, number))
        threads_.exchange(number, 0);
}

void RmmCsv::conclude() {
    const Anomalies& anomalies = info_.anomalies;
    info_.event_count = events_.count();
    info_.duration = events_.last_time();
    info_.slot_count = slots_.count();
    if (first_ > kYear2001)
        info_.start_time = first_;
    if (threads_.size() != 0)
        info_.metadata.emplace_back("threads", fmt::format("{}", threads_.size()));
    info_.cut_off = last_row_lost_ || source_.cut_off();
    if (info_.cut_off)
        info_.warnings.push_back(
            fmt::format("the file is cut off at line {}: everything after it is missing, and "
                        "blocks that were live there are never freed",
                        lines_.number()));
    info_.begins_inside = anomalies.unknown_frees != 0;
    if (info_.begins_inside)
        info_.warnings.push_back(
            fmt::format("{} frees of memory that was allocated before the log started: what was "
                        "live then is not in this trace",
                        anomalies.unknown_frees));
    if (anomalies.reused_live != 0)
        info_.warnings.push_back(
            fmt::format("{} allocations at pointers that were still live: the log may come from "
                        "nested adaptors or several devices",
                        anomalies.reused_live));
    if (nulls_ != 0)
        info_.warnings.push_back(
            fmt::format("{} requests for 0 bytes got a null pointer and are left out", nulls_));
}

// Recognises the header: today's in any order of columns, and the one from before 2020.
bool recognises_rmm(std::span<const std::byte> head) {
    std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    text = text.substr(0, text.find('\n'));
    if (text.find(',') == text.npos)
        return false;
    const auto has = [text](std::string_view name) { return text.find(name) != text.npos; };
    return is_old_header(text) || (has("Action") && has("Pointer") && has("Size"));
}

Result<TraceInfo> read_rmm(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return RmmCsv(source, sink, options).read();
}

}  // namespace

FormatInfo rmm_csv() {
    return {"rmm-csv", "log of RMM's logging_resource_adaptor (rmm.enable_logging)", recognises_rmm,
            read_rmm};
}

}  // namespace tidemark::formats
