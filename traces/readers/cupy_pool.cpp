// cupy-pool: what CuPy's MemoryPool did, one line an operation:
//
//   1 0 7f33daa00000 1024 1024                  op id address total used [oom]
//   1 0 1000 2 7f33daa00000 1024 1024           op id size stream address total used [oom]
//
// op: 1 = allocate, 2 = free, 3 = the device is synchronized. Addresses are in hex, 0 for a refusal
// and what follows from it; total and used are the pool's total_bytes() and used_bytes() after the
// operation. traces/samples/cupy-pool has such logs, of pools that were empty before the first
// line.
//
// What the log doesn't say follows from CuPy's rules. The total grows by a segment of just the size
// that is missing, and falls by all segments of which nothing is in use; they are listed smallest
// first, stream by stream. Lines without size and stream: the size is the growth of `used`, the
// stream the program's only one, and refused requests, whose size nobody knows, are left out. An
// operation counts as a microsecond. Stream n is handle n + 1, since 0 is the default stream.
//
// A log of the CUDA driver's pool has lines of the same form. The driver takes 32 MiB at a time:
// there the total grows by more than what a request uses, in CuPy's it never does.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"
#include "traces/model/event_buffer.h"
#include "traces/readers/format.h"
#include "traces/readers/line_reader.h"
#include "traces/readers/number_text.h"

namespace tidemark::formats {
namespace {

constexpr Nanoseconds kCupyOperation = 1000;
constexpr Bytes kCupyChunk = 512;  // sizes, totals and addresses are multiples of it
constexpr std::uint32_t kMostCupyStreams = 1U << 16U;  // no program has more
constexpr std::uint32_t kEndedCupy = kNoSlot - 1;

// One line, understood.
struct PoolLine {
    enum class Kind : std::uint8_t { allocate, free, synchronize };
    Kind kind = Kind::synchronize;
    bool refused = false;
    bool sized = false;  // it has size and stream
    std::uint64_t id = 0;
    Bytes size = 0;
    std::uint64_t stream = 0;
    std::uint64_t address = 0;
    Bytes total = 0;
    Bytes used = 0;
};

bool is_cupy_size(std::uint64_t value) {
    return value % kCupyChunk == 0 && value < kLargestRequest;
}

bool parse_pool_line(std::string_view text, PoolLine& line) {
    constexpr std::string_view kRefused = " oom";
    line = {};
    line.refused = text.ends_with(kRefused);
    if (line.refused)
        text.remove_suffix(kRefused.size());
    std::array<std::string_view, 7> fields;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
        const std::size_t end = text.find(' ');
        if (count == fields.size())
            return false;
        fields[count] = text.substr(0, end);
        more = end != text.npos;
        text.remove_prefix(more ? end + 1 : text.size());
    }
    line.sized = count == 7;
    if ((count != 5 && count != 7) || fields[0].size() != 1 || fields[0] < "1" || fields[0] > "3")
        return false;
    constexpr std::array kKinds{PoolLine::Kind::allocate, PoolLine::Kind::free,
                                PoolLine::Kind::synchronize};
    line.kind = kKinds[static_cast<std::size_t>(fields[0][0] - '1')];
    const std::size_t rest = line.sized ? 4 : 2;
    if (line.sized && (!parse_decimal(fields[2], line.size) ||
                       !parse_decimal(fields[3], line.stream) || line.stream >= kMostCupyStreams))
        return false;
    return parse_decimal(fields[1], line.id) && parse_hex(fields[rest], line.address) &&
           parse_decimal(fields[rest + 1], line.total) &&
           parse_decimal(fields[rest + 2], line.used) && is_cupy_size(line.total) &&
           is_cupy_size(line.used) && line.used <= line.total && line.address % kCupyChunk == 0 &&
           line.address < std::uint64_t{1} << 63U &&
           (!line.refused || (line.kind == PoolLine::Kind::allocate && line.address == 0));
}

// The segments that the totals tell of.
class PoolSegments {
  public:
    struct Segment {
        Bytes size = 0;
        std::uint32_t stream = 0;
        std::uint64_t live = 0;
    };

    // Does [address, +size) lie in one of them?
    Segment* holding(std::uint64_t address, Bytes size) {
        const auto after = segments_.upper_bound(address);
        if (after == segments_.begin())
            return nullptr;
        const auto at = std::prev(after);
        const std::uint64_t offset = address - at->first;
        return offset < at->second.size && size <= at->second.size - offset ? &at->second : nullptr;
    }

    // False if it would overlap another.
    bool add(std::uint64_t address, const Segment& segment) {
        const auto after = segments_.lower_bound(address);
        if ((after != segments_.end() && after->first - address < segment.size) ||
            holding(address, 1) != nullptr)
            return false;
        segments_.emplace_hint(after, address, segment);
        return true;
    }

    // Takes out all of which nothing is in use, in the order in which they are listed.
    std::vector<std::pair<std::uint64_t, Segment>> take_unused() {
        std::vector<std::pair<std::uint64_t, Segment>> unused;
        std::erase_if(segments_, [&unused](const auto& each) {
            if (each.second.live == 0)
                unused.push_back(each);
            return each.second.live == 0;
        });
        std::ranges::stable_sort(unused, {}, [](const auto& each) {
            return std::pair(each.second.stream, each.second.size);
        });
        return unused;
    }

  private:
    std::map<std::uint64_t, Segment> segments_;  // by address
};

class CupyPool {
  public:
    CupyPool(ByteSource& source, TraceSink& sink, const ReadOptions& options)
        : source_(source), options_(options), lines_(source, options.progress), events_(sink) {
        info_.format = "cupy-pool";
        info_.source = "CuPy's MemoryPool";
        info_.devices.emplace_back();
        info_.pools.emplace_back("default");
        info_.streams.push_back(0);
    }

    Result<TraceInfo> read();

  private:
    Result<void> take(std::string_view text);
    Result<void> apply(const PoolLine& line);
    Result<void> allocate(const PoolLine& line);
    Result<void> grant(const PoolLine& line, Bytes chunk);
    Result<void> refuse(const PoolLine& line);
    Result<void> free(const PoolLine& line);
    Result<void> give_back(Bytes bytes);
    TraceEvent event(EventKind kind) const;
    std::uint32_t rank_of(std::uint64_t stream);

    tl::unexpected<Error> bad(std::string what) const {
        return fail(ErrorCode::bad_input, std::move(what), lines_.position(),
                    "the log lacks lines or isn't of one pool that was empty before it");
    }

    // Counts an oddity, or refuses it where options.strict.
    Result<void> odd(std::uint64_t& counter, std::string_view what) {
        ++counter;
        if (options_.strict)
            return fail(ErrorCode::bad_input, std::string(what), lines_.position(),
                        "without --strict it is counted and the reading goes on");
        return {};
    }

    ByteSource& source_;
    const ReadOptions& options_;
    LineReader lines_;
    EventBuffer events_;
    TraceInfo info_;
    HashIndex living_;                      // id -> slot, or kEndedCupy
    std::vector<std::uint64_t> addresses_;  // by slot
    VacantIds slots_;
    PoolSegments segments_;
    HashIndex ranks_;  // of streams: in which order they came
    std::uint64_t operations_ = 0;
    Bytes total_ = 0;
    Bytes used_ = 0;
    std::uint64_t unsized_refusals_ = 0;
    bool unsized_ = false;
};

Result<TraceInfo> CupyPool::read() {
    bool last_line_lost = false;
    for (;;) {
        std::string_view text;
        TM_ASSIGN(const bool more, lines_.next(text));
        if (!more)
            break;
        if (!lines_.terminated())
            last_line_lost = true;  // of a number that is cut nobody can tell
        else
            TM_TRY(take(text));
    }
    TM_TRY(events_.flush());
    info_.event_count = events_.count();
    info_.duration = events_.last_time();
    info_.slot_count = slots_.count();
    info_.cut_off = last_line_lost || source_.cut_off();
    if (info_.cut_off)
        info_.warnings.push_back(fmt::format(
            "the file is cut off at line {}: what comes after is missing", lines_.number()));
    if (unsized_)
        info_.warnings.emplace_back(
            "the log doesn't say on which streams: all is taken to be on one");
    if (unsized_refusals_ > 0)
        info_.warnings.push_back(
            fmt::format("{} requests were refused, of sizes that the log doesn't say: left out",
                        unsized_refusals_));
    return std::move(info_);
}

Result<void> CupyPool::take(std::string_view text) {
    PoolLine line;
    if (parse_pool_line(text, line))
        return apply(line);
    if (!options_.lenient)
        return fail(ErrorCode::bad_input,
                    fmt::format("'{}' is no operation, expected 'op id [size stream] address "
                                "total used [oom]'",
                                excerpt(text)),
                    lines_.position(), "--lenient skips and counts such lines");
    ++info_.anomalies.bad_records;
    return {};
}

Result<void> CupyPool::apply(const PoolLine& line) {
    if (line.sized) {
        while (info_.streams.size() <= line.stream + 1)
            info_.streams.push_back(info_.streams.size());
    } else {
        unsized_ = true;
    }
    if (line.kind == PoolLine::Kind::allocate) {
        TM_TRY(allocate(line));
    } else {
        if (line.total > total_)
            return bad("the pool's total grows without a request");
        TM_TRY(give_back(total_ - line.total));
        TraceEvent waits = event(EventKind::synchronize);
        waits.flags = kWholeDevice;
        TM_TRY(line.kind == PoolLine::Kind::free ? free(line) : events_.add(waits));
    }
    total_ = line.total;
    used_ = line.used;
    ++operations_;
    return {};
}

TraceEvent CupyPool::event(EventKind kind) const {
    return {.time = static_cast<Nanoseconds>(operations_) * kCupyOperation, .kind = kind};
}

std::uint32_t CupyPool::rank_of(std::uint64_t stream) {
    if (const std::uint32_t known = ranks_.find(stream); known != HashIndex::kNothing)
        return known;
    const auto rank = static_cast<std::uint32_t>(ranks_.size());
    ranks_.insert(stream, rank);
    return rank;
}

StreamId stream_of(const PoolLine& line) {
    return line.sized ? StreamId{static_cast<std::uint32_t>(line.stream) + 1}
                      : StreamId::default_stream;
}

Result<void> CupyPool::allocate(const PoolLine& line) {
    rank_of(line.stream);
    if (line.refused)
        return refuse(line);
    if (line.address == 0)
        return odd(info_.anomalies.zero_sizes, "a request for 0 bytes, which has no address");
    if (line.used <= used_)
        return bad("a request is granted and what is used doesn't grow");
    const Bytes chunk = line.used - used_;
    if (line.sized && align_up(std::max<Bytes>(line.size, 1), kCupyChunk) != chunk)
        return bad(fmt::format("a request of {} bytes uses {} bytes", line.size, chunk));
    return grant(line, chunk);
}

Result<void> CupyPool::grant(const PoolLine& line, Bytes chunk) {
    PoolSegments::Segment* segment = segments_.holding(line.address, chunk);
    const bool grows = segment == nullptr || line.total != total_;
    const Bytes before = grows ? line.total - chunk : line.total;  // of a new segment
    if (before > total_ || (grows && line.total < chunk))
        return bad(fmt::format("the pool's total grows from {} to {} bytes for a request of {}",
                               total_, line.total, chunk));
    TM_TRY(give_back(total_ - before));
    if (grows) {
        if (!segments_.add(line.address, {chunk, rank_of(line.stream), 0}))
            return bad("a new segment lies in another one");
        segment = segments_.holding(line.address, chunk);
        TraceEvent taken = event(EventKind::segment_alloc);
        taken.size = chunk;
        taken.address = line.address;
        taken.stream = stream_of(line);
        TM_TRY(events_.add(taken));
    }
    ++segment->live;
    TraceEvent granted = event(EventKind::allocate);
    granted.size = line.sized ? line.size : chunk;
    granted.address = line.address;
    granted.stream = stream_of(line);
    granted.slot = slots_.take();
    addresses_.resize(std::max<std::size_t>(addresses_.size(), granted.slot + std::size_t{1}));
    addresses_[granted.slot] = line.address;
    const std::uint32_t earlier = living_.exchange(line.id, granted.slot);
    if (earlier != kNoSlot && earlier != kEndedCupy)
        return bad(fmt::format("{} is allocated while it is still live", line.id));
    return events_.add(granted);
}

Result<void> CupyPool::refuse(const PoolLine& line) {
    if (line.total > total_)
        return bad("the pool's total grows with a refusal");
    TM_TRY(give_back(total_ - line.total));
    if (!line.sized) {
        ++unsized_refusals_;
        return {};
    }
    TraceEvent refused = event(EventKind::out_of_memory);
    refused.size = line.size;
    refused.stream = stream_of(line);
    return events_.add(refused);
}

Result<void> CupyPool::free(const PoolLine& line) {
    if (line.address == 0)
        return {};  // of a request that was refused
    TraceEvent end = event(EventKind::free);
    end.address = line.address;
    end.stream = stream_of(line);
    const std::uint32_t slot = living_.exchange(line.id, kEndedCupy);
    if (slot == kNoSlot) {
        TM_TRY(odd(info_.anomalies.unknown_frees, fmt::format("{} was never allocated", line.id)));
    } else if (slot == kEndedCupy) {
        TM_TRY(odd(info_.anomalies.double_frees, fmt::format("{} is freed twice", line.id)));
    } else {
        end.slot = slot;
        slots_.give_back(slot);
        --segments_.holding(addresses_[slot], 1)->live;
    }
    return events_.add(end);
}

// The pool's total falls by that: everything that isn't in use went back, or nothing.
Result<void> CupyPool::give_back(Bytes bytes) {
    if (bytes == 0)
        return {};
    Bytes sum = 0;
    for (const auto& [address, segment] : segments_.take_unused()) {
        sum += segment.size;
        TraceEvent gone = event(EventKind::segment_free);
        gone.size = segment.size;
        gone.address = address;
        TM_TRY(events_.add(gone));
    }
    if (sum != bytes)
        return bad(fmt::format("the pool's total falls by {} bytes, its unused segments have {}",
                               bytes, sum));
    return {};
}

// A line that is cut off at the end of `head` isn't looked at.
bool recognises_cupy(std::span<const std::byte> head) {
    std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    Bytes total = 0;
    Bytes used = 0;
    std::size_t requests = 0;
    for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
        std::string_view row = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (row.ends_with('\r'))
            row.remove_suffix(1);
        PoolLine line;
        if (!parse_pool_line(row, line))
            return false;
        if (line.kind == PoolLine::Kind::allocate) {
            ++requests;
            if (line.total > total && line.total - total > line.used - std::min(used, line.used))
                return false;
        }
        total = line.total;
        used = line.used;
    }
    return requests > 0;
}

Result<TraceInfo> read_cupy(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return CupyPool(source, sink, options).read();
}

}  // namespace

FormatInfo cupy_pool() {
    return {"cupy-pool", "what CuPy's MemoryPool did: operations, addresses, the pool's totals",
            recognises_cupy, read_cupy};
}

}  // namespace tidemark::formats
