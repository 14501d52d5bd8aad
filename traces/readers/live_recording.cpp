// live-recording: what a running program recorded about itself (.tml, docs/format-live.md).
// Everything is kept: allocations with their addresses, tags and stacks; device memory as truth;
// steps and marks. A piece that doesn't start with the program starts with what was live then, as
// preamble.
//
// A free in two steps becomes one free if the second follows immediately, as in PyTorch's own
// snapshots.
//
// A recording in several pieces is read from the given piece to the last. If the program died, what
// its recorder had not yet written is read from the shared memory that it left behind.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"
#include "traces/live/names.h"
#include "traces/live/recording_chain.h"
#include "traces/live/remainder.h"
#include "traces/live/runtime_folder.h"
#include "traces/live/wire.h"
#include "traces/model/event_buffer.h"
#include "traces/readers/format.h"
#include "traces/readers/live_events.h"

namespace tidemark::formats {
namespace {

using live::Record;
using live::RecordKind;

class LiveRecording {
  public:
    LiveRecording(ByteSource& source, TraceSink& sink, const ReadOptions& options)
        : source_(source), options_(options), events_(sink), names_(info_.strings, info_.stacks) {}

    Result<TraceInfo> read();

  private:
    Result<void> read_header();
    Result<bool> read_chunk();
    Result<void> read_following();
    Result<void> read_left_behind();
    Result<void> take(std::span<const Record> records);
    Result<void> apply(const Record& record);
    Result<void> apply_next(const Record& record);
    Result<void> apply_held();
    Result<void> apply_early();
    Result<void> apply_word(const Record& record, TraceEvent event);
    Result<void> allocate(const Record& record, TraceEvent event);
    Result<void> free(const Record& record, TraceEvent event);
    Result<void> retire(const Record& record, TraceEvent event);
    Result<void> use(const Record& record, TraceEvent event);
    Result<void> segment(const Record& record, TraceEvent event);
    bool is_small(const Record& record) const;
    void find_allocator();
    TraceEvent event_of(const Record& record);
    Nanoseconds elapsed(const Record& record);
    void conclude();

    std::string position() const {
        return fmt::format("{}:{:#x}", source_.name(), source_.offset());
    }

    static std::uint64_t key(const Record& record) {
        return record.address ^ (static_cast<std::uint64_t>(record.device) << 56U);
    }

    // Counts an oddity, or refuses it if options.strict.
    Result<void> odd(std::uint64_t& counter, std::string_view what) {
        ++counter;
        if (options_.strict)
            return fail(ErrorCode::bad_input, std::string(what), position(),
                        "without --strict it is counted and reading continues");
        return {};
    }

    ByteSource& source_;
    const ReadOptions& options_;
    EventBuffer events_;
    TraceInfo info_;
    live::NameTables names_;
    live::Header header_;
    HashIndex live_;
    HashIndex retired_;  // freed, but not yet finished
    VacantIds slots_;
    // what is live at the start of the recording, until that is complete
    std::vector<Record> early_;
    std::optional<Record> held_;  // a requested free: the next record shows whether it is complete
    std::optional<std::uint64_t> first_time_;  // of an event that is not preamble
    std::uint64_t latest_ = 0;
    std::uint64_t next_sequence_ = 0;
    std::uint64_t lost_ = 0;
    bool ended_ = false;
    bool died_ = false;
    bool alive_ = false;
    bool from_torch_ = false;
    bool has_host_memory_ = false;
};

Result<void> LiveRecording::read_header() {
    TM_TRY(source_.need(sizeof(live::Header)));
    TM_ASSIGN(header_,
              live::parse_header(source_.window(), live::HeaderKind::recording, source_.name()));
    source_.consume(sizeof(live::Header));
    next_sequence_ = header_.first_sequence;
    info_.format = "live-recording";
    info_.source = live::text_of(header_.name);
    info_.begins_inside = header_.first_sequence != 0;
    for (std::uint32_t i = 0; i < header_.devices; ++i)
        info_.devices.push_back(
            {live::text_of(header_.device[i].name), header_.device[i].capacity});
    if (info_.devices.empty())
        info_.devices.emplace_back();
    info_.metadata.emplace_back("process", fmt::format("{}", header_.process));
    return {};
}

Result<TraceInfo> LiveRecording::read() {
    TM_TRY(read_header());
    for (;;) {
        TM_ASSIGN(const bool more, read_chunk());
        if (!more)
            break;
        if (options_.progress)
            options_.progress(source_.raw_done());
    }
    if (!ended_)
        TM_TRY(read_following());
    if (!ended_)
        TM_TRY(read_left_behind());
    TM_TRY(apply_held());
    TM_TRY(apply_early());
    TM_TRY(events_.flush());
    conclude();
    return std::move(info_);
}

// False at the end of the file, or of its whole chunks.
Result<bool> LiveRecording::read_chunk() {
    TM_TRY(source_.need(sizeof(live::Chunk)));
    if (source_.window().empty())
        return false;
    live::FoundChunk found = live::find_chunk(source_.window());
    if (found.needed > source_.window().size()) {
        TM_TRY(source_.need(found.needed));
        found = live::find_chunk(source_.window());
    }
    if (found.whole) {
        TM_TRY(take(live::records_of(found.slots)));
        next_sequence_ = found.chunk.next_sequence;
        source_.consume(found.needed);
        return true;
    }
    // An incomplete chunk at the end was being written; anywhere else it is damage.
    if (found.needed == 0 || found.needed < source_.window().size()) {
        if (!options_.lenient)
            return fail(ErrorCode::bad_input, "a damaged chunk", position(),
                        "--lenient reads what is before it");
        ++info_.anomalies.bad_records;
    }
    info_.cut_off = true;
    return false;
}

// The other pieces of the recording, if this one is in a folder with them.
Result<void> LiveRecording::read_following() {
    const std::string ending = fmt::format("-{:06}.tml", header_.segment);
    const std::string& name = source_.name();
    if ((header_.flags & live::kSegmented) == 0 || !name.ends_with(ending))
        return {};
    live::put_text(header_.recording, name.substr(0, name.size() - ending.size()) + ".tml");
    auto chain = live::RecordingChain::after(header_, next_sequence_);
    for (;;) {
        TM_ASSIGN(const live::ChainPiece piece, chain.next(0));
        if (!piece.found)
            break;
        TM_TRY(take(piece.records));
        next_sequence_ = piece.next_sequence;
    }
    header_.segment = chain.header().segment;
    return {};
}

// What a dead program's recorder left in its rings; this is then the last piece.
Result<void> LiveRecording::read_left_behind() {
    const std::string name = live::text_of(header_.shared_file);
    if (name.empty() || name.find('/') != std::string::npos ||
        !std::filesystem::exists(source_.name()))
        return {};
    for (const std::string& folder : live::runtime_folders()) {
        const auto left = live::open_program(folder + "/" + name);
        if (!left || left->program.header.session != header_.session)
            continue;
        if (left->program.alive) {
            alive_ = true;
            info_.warnings.push_back(
                fmt::format("the program {} is still running; this is what it had recorded so far",
                            header_.process));
            continue;
        }
        const live::Remainder rest = live::read_remainder(
            left->reader(), left->program, next_sequence_, static_cast<Nanoseconds>(latest_));
        info_.cut_off = false;  // what the last chunk lacks is here
        return take(rest.records);
    }
    return {};
}

Result<void> LiveRecording::take(std::span<const Record> records) {
    for (std::size_t at = 0; at < records.size();) {
        const auto length = 1 + static_cast<std::size_t>(live::payload_slots(records[at]));
        if (!live::is_name(records[at].kind))
            TM_TRY(apply(records[at]));
        else
            names_.define(records.subspan(at, length));
        if (records[at].kind == RecordKind::setting)
            find_allocator();
        at += length;
    }
    return {};
}

// Since the first event of the trace; what was live before has the time 0.
Nanoseconds LiveRecording::elapsed(const Record& record) {
    if (live::is_live(record.kind))
        return 0;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
    latest_ = std::max(latest_, std::min(record.time, kMost));
    if (!first_time_)
        first_time_ = latest_;
    return static_cast<Nanoseconds>(latest_ - *first_time_);
}

TraceEvent LiveRecording::event_of(const Record& record) {
    const live::Named site = names_.site(record.site);
    TraceEvent event;
    event.time = std::max(elapsed(record), events_.last_time());
    event.stream = StreamId{names_.stream(record)};
    event.stack = site.stack;
    event.tag = site.tag;
    event.device = record.device;
    return event;
}

Result<void> LiveRecording::apply(const Record& record) {
    if (record.device >= info_.devices.size())
        return odd(info_.anomalies.unknown_actions,
                   fmt::format("a record of device {}, which does not exist", record.device));
    if (record.kind == RecordKind::end) {
        ended_ = true;
        died_ = record.extra != 0;
        return {};
    }
    if (live::is_live(record.kind) && events_.count() == info_.preamble_count) {
        early_.push_back(record);
        return {};
    }
    TM_TRY(apply_early());
    if (held_ && record.kind == RecordKind::free_completed && key(record) == key(*held_)) {
        Record whole = *std::exchange(held_, std::nullopt);
        whole.kind = RecordKind::free;
        return apply_next(whole);
    }
    TM_TRY(apply_held());
    if (record.kind == RecordKind::free_requested) {
        held_ = record;
        return {};
    }
    return apply_next(record);
}

Result<void> LiveRecording::apply_held() {
    if (!held_)
        return {};
    const Record record = *std::exchange(held_, std::nullopt);
    return apply_next(record);
}

// What was live at the start, in a trace's order: each segment before its blocks, adjacent pages as
// one.
Result<void> LiveRecording::apply_early() {
    if (early_.empty())
        return {};
    std::vector<Record> early = std::exchange(early_, {});
    const auto is_memory = [](const Record& record) {
        return record.kind == RecordKind::live_segment || record.kind == RecordKind::live_mapping;
    };
    std::stable_sort(early.begin(), early.end(), [&](const Record& a, const Record& b) {
        const bool a_block = !is_memory(a);
        const bool b_block = !is_memory(b);
        return std::tie(a.device, a.address, a_block) < std::tie(b.device, b.address, b_block);
    });
    Record* last = nullptr;  // the pages before
    for (Record& record : early) {
        if (record.kind != RecordKind::live_mapping || record.extra != 0)
            continue;
        if (last != nullptr && last->device == record.device && last->site == record.site &&
            last->stream == record.stream && last->address + last->size == record.address) {
            last->size += record.size;
            record.kind = RecordKind::none;
        } else {
            last = &record;
        }
    }
    for (const Record& record : early) {
        if (record.kind != RecordKind::none)
            TM_TRY(apply_next(record));
    }
    return {};
}

Result<void> LiveRecording::apply_next(const Record& record) {
    TraceEvent event = event_of(record);
    switch (record.kind) {
        case RecordKind::live_block:
        case RecordKind::live_retired:
        case RecordKind::allocate:
            return allocate(record, event);
        case RecordKind::free:
        case RecordKind::record_use:
            return free(record, event);
        case RecordKind::free_requested:
        case RecordKind::free_completed:
            return retire(record, event);
        case RecordKind::use:
            return use(record, event);
        case RecordKind::execution:
            set_execution(record, first_time_.value_or(0), event);
            return events_.add(event);
        case RecordKind::operation:
            event.kind = EventKind::operation;
            return events_.add(event);
        case RecordKind::live_segment:
        case RecordKind::live_mapping:
        case RecordKind::segment_alloc:
        case RecordKind::segment_free:
        case RecordKind::map:
        case RecordKind::unmap:
            return segment(record, event);
        case RecordKind::reserve:
        case RecordKind::unreserve:
            return {};  // addresses without memory: no event of a trace
        default:
            return apply_word(record, event);
    }
}

// Events that are not about memory.
Result<void> LiveRecording::apply_word(const Record& record, TraceEvent event) {
    event.aux = names_.string(record.extra);
    switch (record.kind) {
        case RecordKind::refused:
            event.kind = EventKind::out_of_memory;
            event.size = record.size;
            event.address = record.address;
            event.aux = names_.site(record.site).pool;
            break;
        case RecordKind::trim:
            event.kind = EventKind::trim;
            event.aux = 0;
            break;
        case RecordKind::range_begin:
        case RecordKind::live_range:
            event.kind = EventKind::range_begin;
            break;
        case RecordKind::range_end:
            event.kind = EventKind::range_end;
            break;
        case RecordKind::mark:
            event.kind = EventKind::mark;
            break;
        case RecordKind::lost:
            lost_ += record.size;
            event.kind = EventKind::mark;
            event.aux = info_.strings.intern(fmt::format("{} events are missing", record.size));
            break;
        default:
            return odd(
                info_.anomalies.unknown_actions,
                fmt::format("a record of the unknown kind {}", static_cast<unsigned>(record.kind)));
    }
    return events_.add(event);
}

Result<void> LiveRecording::allocate(const Record& record, TraceEvent event) {
    if (record.size == 0)
        TM_TRY(odd(info_.anomalies.zero_sizes, "an allocation of 0 bytes"));
    if (record.size >= kLargestRequest)
        TM_TRY(odd(info_.anomalies.giant_sizes, "an allocation of 2^60 bytes or more"));
    has_host_memory_ = has_host_memory_ || info_.devices[record.device].is_host();
    event.size = record.size;
    event.address = record.address;
    event.aux = names_.site(record.site).pool;
    const bool is_retired = record.kind == RecordKind::live_retired;
    const bool is_preamble = live::is_live(record.kind) && info_.preamble_count == events_.count();
    if (is_preamble && (record.extra != record.size || is_retired)) {
        TraceEvent block = event;
        block.kind = EventKind::block;
        block.size = record.extra;
        block.flags = static_cast<std::uint8_t>(kPreamble | (is_retired ? kPending : 0));
        block.aux = 0;
        TM_TRY(events_.add(block));
        ++info_.preamble_count;
    }
    std::uint32_t before = live_.erase(key(record));
    const bool was_retired = before == kNoSlot;
    if (was_retired && retired_.size() != 0)
        before = retired_.erase(key(record));
    if (before != kNoSlot) {
        TM_TRY(odd(info_.anomalies.reused_live,
                   fmt::format("{:#x} is allocated while it is still live", record.address)));
        TraceEvent end = event;
        end.kind = was_retired ? EventKind::finish : EventKind::free;
        end.slot = before;
        end.size = 0;
        end.aux = 0;
        TM_TRY(events_.add(end));
        slots_.give_back(before);
    }
    event.slot = slots_.take();
    live_.insert(key(record), event.slot);
    if (is_preamble && before == kNoSlot) {
        event.flags = kPreamble;
        ++info_.preamble_count;
    }
    event.kind = EventKind::allocate;
    TM_TRY(events_.add(event));
    if (!is_retired)
        return {};
    live_.erase(key(record));
    retired_.insert(key(record), event.slot);
    event.kind = EventKind::retire;
    event.aux = 0;
    info_.preamble_count += (event.flags & kPreamble) != 0 ? 1U : 0U;
    return events_.add(event);
}

// The two steps of a free.
Result<void> LiveRecording::retire(const Record& record, TraceEvent event) {
    event.address = record.address;
    event.size = record.size;
    if (record.kind == RecordKind::free_requested) {
        event.kind = EventKind::retire;
        event.slot = live_.erase(key(record));
        if (event.slot != kNoSlot)
            retired_.insert(key(record), event.slot);
    } else {
        event.kind = EventKind::finish;
        event.slot = retired_.erase(key(record));
        if (event.slot == kNoSlot) {  // its request was lost
            event.kind = EventKind::free;
            event.slot = live_.erase(key(record));
        }
        if (event.slot != kNoSlot)
            slots_.give_back(event.slot);
    }
    if (event.slot == kNoSlot)
        TM_TRY(odd(info_.anomalies.unknown_frees,
                   fmt::format("{:#x} is freed but was never allocated", record.address)));
    return events_.add(event);
}

// And record_use: both are about a live block at an address.
Result<void> LiveRecording::free(const Record& record, TraceEvent event) {
    event.address = record.address;
    event.kind = record.kind == RecordKind::free ? EventKind::free : EventKind::record_use;
    const bool ends = event.kind == EventKind::free;
    event.size = from_torch_ && ends ? record.size : 0;  // the granted size is known already
    event.slot = ends ? live_.erase(key(record)) : live_.find(key(record));
    if (event.slot == kNoSlot)
        TM_TRY(odd(info_.anomalies.unknown_frees,
                   fmt::format("{:#x} is freed or used but was never allocated", record.address)));
    else if (ends)
        slots_.give_back(event.slot);
    return events_.add(event);
}

// A program may use memory of other libraries, which no allocation introduced: that is not an
// oddity.
Result<void> LiveRecording::use(const Record& record, TraceEvent event) {
    static_assert(live::kUseReads == kReads && live::kUseWrites == kWrites &&
                  live::kUsePerhaps == kPerhaps);
    event.kind = EventKind::use;
    event.address = record.address;
    event.aux = static_cast<std::uint32_t>(record.extra);
    event.slot = live_.find(key(record));
    event.flags = static_cast<std::uint8_t>(record.size & (kReads | kWrites | kPerhaps));
    event.flags |= record.address != 0 && (event.flags & (kReads | kWrites)) == 0 ? kReads : 0;
    return events_.add(event);
}

Result<void> LiveRecording::segment(const Record& record, TraceEvent event) {
    const bool is_paged = record.kind == RecordKind::map || record.kind == RecordKind::unmap ||
                          record.kind == RecordKind::live_mapping;
    if (is_paged && record.extra != 0)
        return {};  // a second mapping: a trace counts each byte of memory once
    event.address = record.address;
    event.size = record.size;
    event.aux = names_.site(record.site).pool;
    event.tag = 0;
    set_segment_kind(record.kind, event);
    if ((record.kind == RecordKind::live_segment || record.kind == RecordKind::live_mapping) &&
        info_.preamble_count == events_.count()) {
        event.flags = static_cast<std::uint8_t>(event.flags | kPreamble |
                                                (is_small(record) ? kSmallPool : 0));
        ++info_.preamble_count;
    }
    return events_.add(event);
}

void LiveRecording::find_allocator() {
    for (const live::NamedSetting& setting : names_.settings()) {
        if (info_.strings[setting.key] == "allocator")
            from_torch_ = info_.strings[setting.value] == "torch";
    }
}

// Whether PyTorch keeps small blocks there: as the recording says, or by the sizes that PyTorch
// uses.
bool LiveRecording::is_small(const Record& record) const {
    if (!from_torch_)
        return false;
    const std::string_view tag = info_.strings[names_.site(record.site).tag];
    if (!tag.empty())
        return tag == "small";
    return record.kind == RecordKind::live_mapping ? record.size % 20_MiB != 0
                                                   : record.size == 2_MiB;
}

void LiveRecording::conclude() {
    for (const live::NamedSetting& setting : names_.settings())
        (setting.of_allocator ? info_.settings : info_.metadata)
            .emplace_back(info_.strings[setting.key], info_.strings[setting.value]);
    info_.event_count = events_.count();
    info_.slot_count = slots_.count();
    info_.duration = events_.last_time();
    const auto first = static_cast<Nanoseconds>(first_time_.value_or(0));
    constexpr Nanoseconds kSoon = std::int64_t{1} << 62;
    if (header_.unix_time > 0 && header_.unix_time < kSoon)
        info_.start_time = header_.unix_time + first;
    info_.streams = names_.streams();
    for (const std::uint32_t pool : names_.pools())
        info_.pools.push_back(pool == 0     ? "default"
                              : from_torch_ ? torch_pool(pool)
                                            : fmt::format("pool {}", pool));
    if (has_host_memory_)
        info_.warnings.push_back(fmt::format("device {} is {}, and not part of totals over devices",
                                             info_.devices.size() - 1, kHostMemory));
    if (header_.forgotten != 0)
        info_.warnings.push_back(fmt::format(
            "{} earlier records are gone: the program kept a limited history", header_.forgotten));
    if (lost_ != 0)
        info_.warnings.push_back(fmt::format(
            "{} events are missing: they came too fast, or could not be written", lost_));
    if (!ended_ && !alive_)
        info_.warnings.emplace_back(
            "it has no end: later events could not be recorded, or are in another file");
    if (died_)
        info_.warnings.emplace_back("the program died; everything that it had published is here");
}

bool recognises_recording(std::span<const std::byte> head) {
    return head.size() >= live::kRecordingMagic.size() &&
           std::memcmp(head.data(), live::kRecordingMagic.data(), live::kRecordingMagic.size()) ==
               0;
}

Result<TraceInfo> read_recording(ByteSource& source, TraceSink& sink, const ReadOptions& options) {
    return LiveRecording(source, sink, options).read();
}

}  // namespace

FormatInfo live_recording() {
    return {.name = "live-recording",
            .summary = "what a running program recorded about itself (.tml)",
            .recognises = recognises_recording,
            .read = read_recording};
}

}  // namespace tidemark::formats
