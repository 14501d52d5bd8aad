// jsonl: our interchange format, one JSON object per line: a header, then events in order of time.
// The easiest trace for another program to write.
//
// Where the format leaves something open, this reader decides as follows. `t` stays as it is, in
// nanoseconds. Streams and pools are numbered in order of appearance unless the header lists them.
// Pool 0 and "default" are the default pool, and allocations between `pool_begin` and `pool_end` of
// their stream belong to that pool unless they name one. A key that is null is absent. An id that
// was freed is dead; naming it again is an error, as the format demands: --lenient skips and
// counts. In that case time that runs backwards is clamped, so that the event is not lost. The keys
// `preamble`, `pending` and `kind` come from our own writer (writers/jsonl.cpp).
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"
#include "traces/model/event_buffer.h"
#include "traces/model/id_set.h"
#include "traces/readers/format.h"
#include "traces/readers/jsonl_header.h"
#include "traces/readers/jsonl_line.h"
#include "traces/readers/line_reader.h"
#include "traces/readers/number_text.h"

namespace tidemark::formats {
namespace {

using Key = JsonlKey;
using Type = JsonlValue::Type;

class Jsonl {
  public:
    Jsonl(ByteSource& source, TraceSink& sink, const ReadOptions& options)
        : source_(source), options_(options), lines_(source, options.progress), events_(sink) {}

    Result<TraceInfo> read();

  private:
    // Fills in what its op describes, from line_. Errors: only those that need a position.
    using Meaning = Result<void> (Jsonl::*)(TraceEvent&);

    struct Op {
        std::string_view name;
        Meaning meaning;
        EventKind kind;
    };

    static const std::array<Op, 16> kOps;

    Result<void> read_header();
    Result<void> read_event(std::string_view line);
    Result<void> read_time(TraceEvent& event);
    Result<void> read_where(TraceEvent& event);

    Result<void> allocate(TraceEvent& event);
    Result<void> free(TraceEvent& event);
    Result<void> use(TraceEvent& event);
    Result<void> record_use(TraceEvent& event);
    Result<void> order(TraceEvent& event);
    Result<void> synchronize(TraceEvent& event);
    Result<void> range(TraceEvent& event);
    Result<void> mark(TraceEvent& event);
    Result<void> pool_begin(TraceEvent& event);
    Result<void> pool_end(TraceEvent& event);
    Result<void> reservation(TraceEvent& event);
    Result<void> move(TraceEvent& event);
    Result<void> out_of_memory(TraceEvent& event);
    Result<void> finish(TraceEvent& event);

    Result<std::uint64_t> number(Key key, std::uint64_t most);
    Result<std::uint64_t> number_or(Key key, std::uint64_t most, std::uint64_t otherwise);
    Result<std::string_view> text(Key key);
    Result<std::uint8_t> tier(Key key);
    Result<std::uint8_t> tier_of(std::string_view name);
    Result<std::uint8_t> tiers();
    Result<std::uint32_t> live_slot(std::uint64_t* ended);
    Result<std::uint32_t> pool();
    Result<std::uint32_t> stack();

    StreamId stream_of(std::uint64_t name);
    std::uint32_t pool_named(std::string_view name);
    Result<void> add(const TraceEvent& event);
    void conclude();

    // A line that the format forbids: an Error, which --lenient turns into a count (see read()).
    tl::unexpected<Error> refuse(std::string what, std::uint64_t* counter = nullptr) {
        refused_ = counter != nullptr ? counter : &info_.anomalies.bad_records;
        return fail(ErrorCode::bad_input, std::move(what), lines_.position(),
                    "--lenient skips and counts such lines");
    }

    // Something odd that the format allows: counted, or an Error if options.strict.
    Result<void> odd(std::uint64_t& counter, const char* what) {
        ++counter;
        if (options_.strict)
            return fail(ErrorCode::bad_input, what, lines_.position(),
                        "without --strict it is counted and reading continues");
        return {};
    }

    const JsonlValue& value(Key key) const { return line_[key]; }

    ByteSource& source_;
    const ReadOptions& options_;
    LineReader lines_;
    EventBuffer events_;
    TraceInfo info_;
    JsonlHeader header_;
    JsonlLine line_;
    std::uint64_t* refused_ = nullptr;  // the counter for the line that was refused last

    HashIndex ids_;  // of live and of retired allocations
    IdSet seen_;
    VacantIds slots_;
    std::vector<bool> retired_;  // by slot
    HashIndex streams_;
    std::map<std::string, std::uint32_t, std::less<>> pools_;
    std::unordered_map<StreamId, std::vector<std::uint32_t>> open_pools_;
    std::vector<Frame> frames_;

    bool preamble_ = true;  // no event after the preamble has come yet
    bool last_line_lost_ = false;
    std::uint64_t tasks_dropped_ = 0;
    std::uint64_t alignments_dropped_ = 0;
};

const std::array<Jsonl::Op, 16> Jsonl::kOps{{
    {"use", &Jsonl::use, EventKind::use},
    {"alloc", &Jsonl::allocate, EventKind::allocate},
    {"free", &Jsonl::free, EventKind::free},
    {"record_use", &Jsonl::record_use, EventKind::record_use},
    {"event", &Jsonl::order, EventKind::record_event},
    {"wait", &Jsonl::order, EventKind::wait_event},
    {"sync", &Jsonl::synchronize, EventKind::synchronize},
    {"begin", &Jsonl::range, EventKind::range_begin},
    {"end", &Jsonl::range, EventKind::range_end},
    {"mark", &Jsonl::mark, EventKind::mark},
    {"pool_begin", &Jsonl::pool_begin, EventKind::pool_begin},
    {"pool_end", &Jsonl::pool_end, EventKind::pool_end},
    {"reserve", &Jsonl::reservation, EventKind::reserve},
    {"release", &Jsonl::reservation, EventKind::release},
    {"move", &Jsonl::move, EventKind::move},
    {"oom", &Jsonl::out_of_memory, EventKind::out_of_memory},
}};

Result<void> Jsonl::read_header() {
    std::string_view line;
    TM_ASSIGN(const bool more, lines_.next(line));
    if (!more)
        return fail(ErrorCode::bad_input, "the file is empty", source_.name());
    auto header = read_jsonl_header(line, info_);
    if (!header) {
        header.error().where = lines_.position();
        return tl::make_unexpected(std::move(header).error());
    }
    header_ = std::move(*header);
    info_.format = "jsonl";
    info_.streams.assign(1, 0);
    streams_.insert(0, 0);
    for (std::size_t i = 1; i < header_.streams.size(); ++i) {
        info_.streams.push_back(header_.streams[i]);
        streams_.insert(i, static_cast<std::uint32_t>(i));
    }
    info_.pools.assign(1, header_.pools.empty() ? "default" : header_.pools[0]);
    for (std::size_t i = 1; i < header_.pools.size(); ++i)
        info_.pools.push_back(header_.pools[i]);
    for (std::size_t i = info_.pools.size(); i-- > 0;)
        pools_.insert_or_assign(info_.pools[i], static_cast<std::uint32_t>(i));
    pools_.try_emplace("default", 0);
    return {};
}

Result<TraceInfo> Jsonl::read() {
    TM_TRY(read_header());
    for (;;) {
        std::string_view line;
        TM_ASSIGN(const bool more, lines_.next(line));
        if (!more)
            break;
        refused_ = nullptr;
        if (!lines_.terminated() && (source_.cut_off() || !line_.parse(line))) {
            last_line_lost_ = line.find_first_not_of(" \t\r") != line.npos;
            break;
        }
        Result<void> done = read_event(line);
        if (done) [[likely]]
            continue;
        if (refused_ == nullptr || !options_.lenient)
            return tl::make_unexpected(std::move(done).error());
        ++*refused_;
    }
    TM_TRY(events_.flush());
    conclude();
    return std::move(info_);
}

Result<void> Jsonl::read_event(std::string_view line) {
    if (!line_.parse(line)) [[unlikely]] {
        if (line.find_first_not_of(" \t\r") == line.npos)
            return {};
        return refuse(fmt::format("not a JSON object (byte {})", line_.error_column()));
    }
    TM_ASSIGN(const std::string_view name, text(Key::op));
    const auto op = std::find_if(kOps.begin(), kOps.end(),
                                 [name](const Op& candidate) { return candidate.name == name; });
    if (op == kOps.end() || name.empty())
        return refuse(fmt::format("unknown op '{}'", excerpt(name)),
                      &info_.anomalies.unknown_actions);
    TraceEvent event;
    event.kind = op->kind;
    TM_TRY(read_where(event));
    TM_TRY(read_time(event));
    TM_TRY((this->*op->meaning)(event));
    return add(event);
}

// What every event may have: stream, device, address, stack, tag, and whether it is of the
// preamble.
Result<void> Jsonl::read_where(TraceEvent& event) {
    TM_ASSIGN(const std::uint64_t stream, number_or(Key::stream, UINT64_MAX, 0));
    TM_ASSIGN(const std::uint64_t device, number_or(Key::device, kMostJsonlDevices - 1, 0));
    event.device = static_cast<std::uint16_t>(device);
    if (const JsonlValue& address = value(Key::address); address.type == Type::text) {
        if (!address.text.starts_with("0x") || !parse_hex(address.text.substr(2), event.address))
            return refuse("'address' must be a whole number or \"0x...\"");
    } else {
        TM_ASSIGN(event.address, number_or(Key::address, UINT64_MAX, 0));
    }
    if (value(Key::tag).type != Type::absent) {
        TM_ASSIGN(const std::string_view tag, text(Key::tag));
        event.tag = info_.strings.intern(tag);
    }
    if (value(Key::stack).type != Type::absent) {
        TM_ASSIGN(event.stack, this->stack());
    }
    if (value(Key::preamble).number != 0 && preamble_)
        event.flags |= kPreamble;
    // Last, so that a line refused above leaves no new stream behind.
    event.stream = stream_of(stream);
    return {};
}

Result<void> Jsonl::read_time(TraceEvent& event) {
    const auto most = static_cast<std::uint64_t>(INT64_MAX / header_.unit);
    TM_ASSIGN(const std::uint64_t time, number(Key::t, most));
    event.time = static_cast<Nanoseconds>(time) * header_.unit;
    if (event.time >= events_.last_time()) [[likely]]
        return {};
    if (!options_.lenient)
        return refuse(
            fmt::format("time runs backwards, from {} to {} ns", events_.last_time(), event.time));
    ++info_.anomalies.backward_times;
    event.time = events_.last_time();
    return {};
}

Result<void> Jsonl::add(const TraceEvent& event) {
    preamble_ = preamble_ && (event.flags & kPreamble) != 0;
    info_.preamble_count += preamble_ ? 1U : 0U;
    if (event.device >= info_.devices.size())
        info_.devices.resize(event.device + std::size_t{1});
    return events_.add(event);
}

Result<void> Jsonl::allocate(TraceEvent& event) {
    TM_ASSIGN(const std::uint64_t id, number(Key::id, UINT64_MAX));
    TM_ASSIGN(event.size, number(Key::bytes, UINT64_MAX));
    TM_ASSIGN(const std::uint8_t tier, this->tier(Key::tier));
    event.flags |= tier;
    if (value(Key::pool).type != Type::absent) {
        TM_ASSIGN(event.aux, pool());
    } else if (!open_pools_.empty()) {
        const auto open = open_pools_.find(event.stream);
        event.aux = open != open_pools_.end() ? open->second.back() : 0;
    }
    if (event.size == 0)
        TM_TRY(odd(info_.anomalies.zero_sizes, "an allocation of 0 bytes"));
    if (event.size >= kLargestRequest)
        TM_TRY(odd(info_.anomalies.giant_sizes, "an allocation of 2^60 bytes or more"));
    if (!seen_.insert(id)) {
        const bool live = ids_.find(id) != kNoSlot;
        return refuse(fmt::format("id {} is allocated a second time", id),
                      live ? &info_.anomalies.reused_live : nullptr);
    }
    alignments_dropped_ += value(Key::align).type != Type::absent ? 1U : 0U;
    tasks_dropped_ += value(Key::task).type != Type::absent ? 1U : 0U;
    event.slot = slots_.take();
    retired_.resize(std::max<std::size_t>(retired_.size(), slots_.count()));
    retired_[event.slot] = false;
    ids_.insert(id, event.slot);
    return {};
}

// The slot of key `id`. A dead or unknown one is refused and counted: in `ended` or as unknown, if
// given, otherwise as a bad record.
Result<std::uint32_t> Jsonl::live_slot(std::uint64_t* ended) {
    TM_ASSIGN(const std::uint64_t id, number(Key::id, UINT64_MAX));
    const std::uint32_t slot = ids_.find(id);
    if (slot != kNoSlot && !retired_[slot]) [[likely]]
        return slot;
    if (seen_.contains(id))
        return refuse(fmt::format("id {} has been freed already", id), ended);
    return refuse(fmt::format("id {} was never allocated", id),
                  ended != nullptr ? &info_.anomalies.unknown_frees : nullptr);
}

Result<void> Jsonl::free(TraceEvent& event) {
    TM_ASSIGN(event.slot, live_slot(&info_.anomalies.double_frees));
    if (value(Key::pending).number != 0) {
        event.kind = EventKind::retire;
        retired_[event.slot] = true;
        return {};
    }
    ids_.erase(value(Key::id).number);
    slots_.give_back(event.slot);
    return {};
}

// The end of a free that was pending.
Result<void> Jsonl::finish(TraceEvent& event) {
    TM_ASSIGN(const std::uint64_t id, number(Key::id, UINT64_MAX));
    event.slot = ids_.find(id);
    if (event.slot == kNoSlot || !retired_[event.slot])
        return refuse(fmt::format("id {} has no pending free", id));
    event.kind = EventKind::finish;
    ids_.erase(id);
    slots_.give_back(event.slot);
    return {};
}

Result<void> Jsonl::use(TraceEvent& event) {
    TM_ASSIGN(const std::string_view mode, text(Key::mode));
    if (mode != "r" && mode != "w" && mode != "rw")
        return refuse(fmt::format("mode '{}' is not one of r, w, rw", excerpt(mode)));
    TM_ASSIGN(const std::uint64_t kernel, number(Key::kernel, UINT32_MAX));
    TM_ASSIGN(event.slot, live_slot(nullptr));
    event.aux = static_cast<std::uint32_t>(kernel);
    event.flags |= static_cast<std::uint8_t>((mode[0] == 'r' ? kReads : 0) |
                                             (mode.back() == 'w' ? kWrites : 0));
    tasks_dropped_ += value(Key::task).type != Type::absent ? 1U : 0U;
    return {};
}

Result<void> Jsonl::record_use(TraceEvent& event) {
    TM_ASSIGN(event.slot, live_slot(nullptr));
    return {};
}

Result<void> Jsonl::order(TraceEvent& event) {
    TM_ASSIGN(const std::uint64_t name, number(Key::event, UINT32_MAX));
    event.aux = static_cast<std::uint32_t>(name);
    return {};
}

Result<void> Jsonl::synchronize(TraceEvent& event) {
    if (value(Key::stream).type == Type::absent)
        event.flags |= kWholeDevice;
    return {};
}

Result<void> Jsonl::range(TraceEvent& event) {
    TM_ASSIGN(const std::string_view name, text(Key::name));
    event.aux = info_.strings.intern(name);
    return {};
}

Result<void> Jsonl::mark(TraceEvent& event) {
    if (value(Key::kind).type == Type::text && value(Key::kind).text == "finish")
        return finish(event);
    if (value(Key::kind).type == Type::text && value(Key::kind).text == "trim") {
        event.kind = EventKind::trim;
        return {};
    }
    return range(event);
}

Result<void> Jsonl::pool_begin(TraceEvent& event) {
    TM_ASSIGN(event.aux, pool());
    open_pools_[event.stream].push_back(event.aux);
    return {};
}

Result<void> Jsonl::pool_end(TraceEvent& event) {
    TM_ASSIGN(event.aux, pool());
    const auto open = open_pools_.find(event.stream);
    if (open == open_pools_.end() || open->second.back() != event.aux)
        return refuse("'pool_end' of a pool that is not the last one begun on this stream");
    open->second.pop_back();
    if (open->second.empty())
        open_pools_.erase(open);
    return {};
}

Result<void> Jsonl::reservation(TraceEvent& event) {
    TM_ASSIGN(const std::uint64_t task, number(Key::task, UINT32_MAX));
    TM_ASSIGN(event.size, number(Key::bytes, UINT64_MAX));
    TM_ASSIGN(const std::uint8_t tiers, this->tiers());
    event.aux = static_cast<std::uint32_t>(task);
    event.flags |= tiers;
    return {};
}

Result<void> Jsonl::move(TraceEvent& event) {
    if (value(Key::to).type == Type::absent)
        return refuse("key 'to' is missing");
    TM_ASSIGN(const std::uint8_t tier, this->tier(Key::to));
    TM_ASSIGN(event.slot, live_slot(nullptr));
    event.flags |= tier;
    return {};
}

Result<void> Jsonl::out_of_memory(TraceEvent& event) {
    TM_ASSIGN(event.size, number(Key::bytes, UINT64_MAX));
    TM_ASSIGN(event.address, number_or(Key::device_free, UINT64_MAX, 0));
    return {};
}

Result<std::uint64_t> Jsonl::number(Key key, std::uint64_t most) {
    const JsonlValue& value = line_[key];
    if (value.type == Type::number && value.number <= most) [[likely]]
        return value.number;
    if (value.type == Type::absent)
        return refuse(fmt::format("key '{}' is missing", to_text(key)));
    return refuse(fmt::format("'{}' must be a whole number of at most {}", to_text(key), most));
}

Result<std::uint64_t> Jsonl::number_or(Key key, std::uint64_t most, std::uint64_t otherwise) {
    return line_[key].type == Type::absent ? otherwise : number(key, most);
}

Result<std::string_view> Jsonl::text(Key key) {
    const JsonlValue& value = line_[key];
    if (value.type == Type::text) [[likely]]
        return value.text;
    if (value.type == Type::absent)
        return refuse(fmt::format("key '{}' is missing", to_text(key)));
    return refuse(fmt::format("'{}' must be a string", to_text(key)));
}

// The flags of the tier that `key` names; without it, of the device.
Result<std::uint8_t> Jsonl::tier(Key key) {
    if (value(key).type == Type::absent)
        return std::uint8_t{0};
    TM_ASSIGN(const std::string_view name, text(key));
    return tier_of(name);
}

Result<std::uint8_t> Jsonl::tier_of(std::string_view name) {
    if (name == "gpu" || name == "device")
        return std::uint8_t{0};
    if (name == "host")
        return kTierHost;
    if (name == "disk")
        return kTierDisk;
    return refuse(fmt::format("tier '{}' is not one of gpu, host, disk", excerpt(name)));
}

// "gpu,host,disk": the tiers of a reservation; the first one with room is used.
Result<std::uint8_t> Jsonl::tiers() {
    if (value(Key::tier).type == Type::absent)
        return std::uint8_t{0};
    TM_ASSIGN(std::string_view names, text(Key::tier));
    std::uint8_t flags = 0;
    std::uint8_t last = 0;
    bool more = true;
    for (bool first = true; more; first = false) {
        const std::size_t comma = names.find(',');
        more = comma != std::string_view::npos;
        TM_ASSIGN(const std::uint8_t tier, tier_of(names.substr(0, comma)));
        names.remove_prefix(more ? comma + 1 : names.size());
        const std::uint8_t other = tier == kTierDisk   ? kOrDisk
                                   : tier == kTierHost ? kOrHost
                                                       : kOrDevice;
        const bool again = !first && ((flags & kTierMask) == tier || (flags & other) != 0);
        if (again || (last != 0 && other < last))
            return refuse(
                "a reservation names each tier once, and those after the first from fast "
                "to slow");
        flags |= first ? tier : other;
        last = first ? 0 : other;
    }
    return flags;
}

Result<std::uint32_t> Jsonl::pool() {
    if (value(Key::pool).type == Type::text)
        return pool_named(value(Key::pool).text);
    TM_ASSIGN(const std::uint64_t number, this->number(Key::pool, UINT64_MAX));
    if (number < std::max<std::size_t>(header_.pools.size(), 1))
        return static_cast<std::uint32_t>(number);
    return pool_named(fmt::format("{}", number));
}

std::uint32_t Jsonl::pool_named(std::string_view name) {
    if (const auto found = pools_.find(name); found != pools_.end())
        return found->second;
    const auto id = static_cast<std::uint32_t>(info_.pools.size());
    info_.pools.emplace_back(name);
    pools_.emplace(name, id);
    return id;
}

Result<std::uint32_t> Jsonl::stack() {
    if (value(Key::stack).type != Type::list)
        return refuse("'stack' must be a list of strings");
    frames_.clear();
    for (const std::string_view frame : line_.stack())
        frames_.push_back({info_.strings.intern(frame), 0, 0});
    return info_.stacks.intern(frames_);
}

StreamId Jsonl::stream_of(std::uint64_t name) {
    if (name == 0) [[likely]]
        return StreamId::default_stream;
    std::uint32_t id = streams_.find(name);
    if (id == kNoSlot) {
        id = static_cast<std::uint32_t>(info_.streams.size());
        info_.streams.push_back(name);
        streams_.insert(name, id);
    }
    return StreamId{id};
}

void Jsonl::conclude() {
    info_.event_count = events_.count();
    info_.duration = events_.last_time();
    info_.slot_count = slots_.count();
    info_.begins_inside = info_.preamble_count != 0;
    info_.cut_off = last_line_lost_ || source_.cut_off();
    if (info_.cut_off)
        info_.warnings.push_back(
            fmt::format("the file is cut off at line {}: everything after it is missing, and "
                        "blocks that were live there are never freed",
                        lines_.number()));
    if (tasks_dropped_ != 0)
        info_.warnings.push_back(fmt::format(
            "{} allocations and uses name a task; Tidemark keeps it only for reserve and release",
            tasks_dropped_));
    if (alignments_dropped_ != 0)
        info_.warnings.push_back(fmt::format(
            "{} allocations request an alignment, which is not kept", alignments_dropped_));
}

// An object whose first line looks like our header, or like an event whose header is missing; the
// latter is recognised so that the reader can report it.
bool recognises_jsonl(std::span<const std::byte> head) {
    std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (text.starts_with("\xef\xbb\xbf"))
        text.remove_prefix(3);
    text = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
    const auto has = [text](std::string_view name) { return text.find(name) != text.npos; };
    return text.starts_with('{') &&
           ((has("\"type\"") && has("\"header\"")) || (has("\"t\"") && has("\"op\"")));
}

Result<TraceInfo> read_jsonl(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return Jsonl(source, sink, options).read();
}

}  // namespace

FormatInfo jsonl() {
    return {"jsonl", "Tidemark's interchange format: one JSON object per line", recognises_jsonl,
            read_jsonl};
}

}  // namespace tidemark::formats
