// The pass forward, from the preamble to the state at the dump.
#include "traces/readers/torch_events.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/vacant_ids.h"
#include "traces/readers/torch_history.h"
#include "traces/readers/torch_output.h"
#include "traces/readers/torch_preamble.h"

namespace tidemark::torch {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

// One device's trace, and how far it has been written.
struct DeviceWalk {
    History history;
    std::size_t device = 0;
    std::size_t next = 0;
    std::uint64_t time_us = 0;  // of the next entry, never going back
    HashIndex pending;          // freed, not finished: address -> slot
    HashIndex orphans;          // allocated, never freed, not live at the dump: address -> slot
};

// Whether the completion at `i` belongs to a request that waited for it and then ran out of memory.
bool is_in_vain(std::span<const Entry> entries, std::size_t i) {
    for (++i; i < entries.size(); ++i) {
        const Action action = entries[i].action();
        if (action != Action::free_completed && action != Action::segment_free &&
            action != Action::segment_unmap)
            return action == Action::oom;
    }
    return false;
}

// The same for the free at `i`, whose other half follows: one that waits for nothing is complete
// within microseconds.
bool completed_in_vain(std::span<const Entry> entries, std::size_t i) {
    constexpr std::uint64_t kAtOnceUs = 50;
    return entries[i + 1].time_us() > entries[i].time_us() + kAtOnceUs &&
           is_in_vain(entries, i + 1);
}

class EventWriter {
  public:
    EventWriter(Records& records, Contents& contents, TraceSink& sink, const ReadOptions& options,
                TraceInfo& info)
        : contents_(contents),
          options_(options),
          info_(info),
          walks_(contents.device_count),
          final_slots_(contents.blocks.size(), kNoSlot),
          output_(records, sink, info) {}

    Result<void> run(const std::vector<History>& histories, const std::string& name) {
        for (std::size_t device = 0; device < walks_.size(); ++device) {
            walks_[device].device = device;
            walks_[device].history = histories[device];
            write_preamble(device);
        }
        info_.preamble_count = output_.count();
        write_traces();
        if (strict_failure_)
            return fail(ErrorCode::bad_input, failure_, name,
                        "without --strict it is counted and reading goes on");
        if (!info_.cut_off && !all_empty())
            write_final_state();
        TM_TRY(output_.flush());
        info_.event_count = output_.count();
        info_.slot_count = slots_.count();
        info_.duration = output_.last_time();
        return {};
    }

    std::size_t never_freed() const {
        std::size_t count = 0;
        for (const DeviceWalk& walk : walks_)
            count += walk.orphans.size();
        return count;
    }

    std::size_t early_blocks() const {
        std::size_t count = 0;
        for (const DeviceWalk& walk : walks_)
            count += walk.history.early_blocks.size();
        return count;
    }

    std::size_t lone_completions() const { return lone_completions_; }

    // Requested frees of devices on which no free is ever completed.
    std::size_t never_completed() const { return never_completed_; }

    std::size_t early_annotations() const { return early_annotations_; }

  private:
    bool all_empty() const {
        return std::all_of(walks_.begin(), walks_.end(),
                           [](const DeviceWalk& walk) { return walk.history.entries.empty(); });
    }

    // What was live before the first entry, as if it had been allocated at time 0.
    void write_preamble(std::size_t device) {
        DeviceWalk& walk = walks_[device];
        auto block = walk.history.early_blocks.begin();
        for (const auto& [address, run] : walk.history.early_runs) {
            TraceEvent event;
            event.kind = run.expandable ? EventKind::segment_map : EventKind::segment_alloc;
            event.address = address;
            event.size = run.size;
            event.stream = output_.stream(run.stream);
            event.aux = output_.pool(run.pool);
            event.device = static_cast<std::uint16_t>(device);
            event.flags = static_cast<std::uint8_t>(kPreamble | (run.expandable ? kExpandable : 0) |
                                                    (run.small ? kSmallPool : 0));
            output_.add(event);
            for (; block != walk.history.early_blocks.end() && block->address - address < run.size;
                 ++block)
                write_early_block(walk, *block, event);
        }
    }

    void write_early_block(DeviceWalk& walk, const EarlyBlock& block, const TraceEvent& segment) {
        TraceEvent event = segment;
        event.kind = EventKind::block;
        event.address = block.address;
        event.size = block.size;
        event.flags = static_cast<std::uint8_t>(kPreamble | (block.pending ? kPending : 0));
        output_.add(event);
        event.kind = EventKind::allocate;
        event.size = block.requested;
        event.slot = slots_.take();
        event.stack = output_.stack(block.frames);
        event.stream = output_.stream(block.stream);
        event.flags = kPreamble;
        output_.add(event);
        if ((block.link & kFinalLink) != 0) {
            final_slots_[block.link & ~kFinalLink] = event.slot;
        } else {
            Entry& end = walk.history.entries[block.link];
            end.link = event.slot;
            end.set(Entry::kOwned);
        }
        if (block.pending) {
            event.kind = EventKind::retire;
            output_.add(event);
            walk.pending.insert(block.address, event.slot);
        }
    }

    // All devices by time; of several entries at the same time, those of the lower device first.
    void write_traces() {
        using Turn = std::pair<std::uint64_t, std::size_t>;
        std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
        for (std::size_t device = 0; device < walks_.size(); ++device) {
            if (!walks_[device].history.entries.empty()) {
                read_time(walks_[device]);
                turns.emplace(walks_[device].time_us, device);
            }
        }
        start_us_ = turns.empty() ? 0 : turns.top().first;
        info_.start_time = static_cast<Nanoseconds>(start_us_) * 1000;
        start_annotations();
        while (!turns.empty() && !strict_failure_ && output_.good()) {
            const std::size_t device = turns.top().second;
            turns.pop();
            const Turn until = turns.empty() ? Turn{kNever, 0} : turns.top();
            DeviceWalk& walk = walks_[device];
            const std::size_t end = walk.history.entries.size();
            while (walk.next < end && Turn{walk.time_us, device} < until && !strict_failure_)
                step(walk);
            if (walk.next < end)
                turns.emplace(walk.time_us, device);
        }
        write_annotations(kNever);
    }

    // Writes the next entry, and the one after it if it is the other half of a free.
    void step(DeviceWalk& walk) {
        const std::span<Entry> entries = walk.history.entries;
        if (walk.time_us >= annotation_us_)
            write_annotations(walk.time_us);
        time_ = static_cast<Nanoseconds>(walk.time_us - start_us_) * 1000;
        const bool pair =
            is_free_pair(entries, walk.next) && !completed_in_vain(entries, walk.next);
        entry_number_ = walk.next;
        entry_device_ = walk.device;
        fetch_end(entries, walk.next + 16);
        write_entry(walk, entries[walk.next], pair);
        walk.next += pair ? 2 : 1;
        if (walk.next < entries.size())
            read_time(walk);
    }

    // write_alloc() writes to the entry that frees the block, which can be anywhere in the trace.
    static void fetch_end(std::span<Entry> entries, std::size_t i) {
        if (i < entries.size() && entries[i].link < entries.size())
            __builtin_prefetch(&entries[entries[i].link], 1);
    }

    void read_time(DeviceWalk& walk) {
        entry_number_ = walk.next;
        entry_device_ = walk.device;
        const std::uint64_t time = walk.history.entries[walk.next].time_us();
        if (time >= walk.time_us)
            walk.time_us = time;
        else if (time != 0)
            note(info_.anomalies.backward_times, "the clock runs backwards");
    }

    void write_entry(DeviceWalk& walk, Entry& entry, bool pair) {
        if (!is_whole(entry)) [[unlikely]] {
            note(info_.anomalies.bad_records, "an entry without address or size");
            return;
        }
        const Output::Resolved& context = output_.context(entry.context);
        if (entry.action() == Action::alloc && walk.orphans.size() + walk.pending.size() != 0)
            close_older(walk, entry, context);
        TraceEvent& event = output_.draft();
        event.time = time_;
        event.size = entry.size;
        event.address = entry.address;
        event.stream = context.stream;
        event.stack = context.stack;
        event.tag = context.tag;
        event.device = static_cast<std::uint16_t>(entry_device_);
        switch (entry.action()) {
            case Action::alloc:
                event.aux = context.pool;
                return write_alloc(walk, entry, event);
            case Action::free_requested:
            case Action::free_completed:
            case Action::free:
                return write_free(walk, entry, event, pair);
            default:
                return write_other(entry, event, context.pool);
        }
    }

    // An allocation at the address of a live one: the older one ended unseen.
    void close_older(DeviceWalk& walk, const Entry& allocation, const Output::Resolved& context) {
        TraceEvent event;
        event.kind = EventKind::free;
        event.slot = walk.orphans.erase(allocation.address);
        if (event.slot == kNoSlot) {
            event.kind = EventKind::finish;
            event.slot = walk.pending.erase(allocation.address);
        }
        if (event.slot == kNoSlot)
            return;
        note(info_.anomalies.reused_live, "an allocation where another one is live");
        event.time = time_;
        event.address = allocation.address;
        event.stream = context.stream;
        event.device = static_cast<std::uint16_t>(entry_device_);
        output_.add(event);
        slots_.give_back(event.slot);
    }

    // From here on `event` is a draft of the output.
    void write_alloc(DeviceWalk& walk, const Entry& entry, TraceEvent& event) {
        if (entry.size == 0)
            note(info_.anomalies.zero_sizes, "an allocation of no bytes");
        else if (entry.size >= kLargestRequest)
            note(info_.anomalies.giant_sizes, "an allocation of 2^60 bytes or more");
        event.kind = EventKind::allocate;
        event.slot = slots_.take();
        if (entry.link == kNone)
            walk.orphans.insert(entry.address, event.slot);
        else if ((entry.link & kFinalLink) != 0)
            final_slots_[entry.link & ~kFinalLink] = event.slot;
        else
            walk.history.entries[entry.link].link = event.slot;
        output_.commit();
    }

    void write_free(DeviceWalk& walk, const Entry& entry, TraceEvent& event, bool pair) {
        const Action action = entry.action();
        if (action == Action::free_completed) {
            event.slot = walk.pending.erase(entry.address);
            if (is_in_vain(walk.history.entries, walk.next))
                event.flags = kInVain;
            if (event.slot != kNoSlot)
                return write_end(EventKind::finish, event);
        }
        if (entry.has(Entry::kOwned))
            event.slot = entry.link;
        else if (entry.has(Entry::kTwice))
            note(info_.anomalies.double_frees, "a free of a block that has been freed already");
        else
            note(info_.anomalies.unknown_frees, "a free of a block that was never allocated");
        if (action == Action::free_completed && event.slot == kNoSlot)
            return write_end(EventKind::finish, event);
        lone_completions_ += action == Action::free_completed ? 1U : 0U;
        const bool awaited = action == Action::free_requested && !pair;
        const bool waits = awaited && (walk.history.completes_frees || entry.has(Entry::kWaits));
        never_completed_ += awaited && !waits ? 1U : 0U;
        if (!waits)
            return write_end(EventKind::free, event);
        event.kind = EventKind::retire;
        if (event.slot != kNoSlot)
            walk.pending.insert(entry.address, event.slot);
        output_.commit();
    }

    void write_end(EventKind kind, TraceEvent& event) {
        event.kind = kind;
        if (event.slot != kNoSlot)
            slots_.give_back(event.slot);
        output_.commit();
    }

    void write_other(const Entry& entry, TraceEvent& event, std::uint32_t pool) {
        switch (entry.action()) {
            case Action::segment_alloc:
                event.kind = EventKind::segment_alloc;
                break;
            case Action::segment_free:
                event.kind = EventKind::segment_free;
                break;
            case Action::segment_map:
                event.kind = EventKind::segment_map;
                event.flags = kExpandable;
                break;
            case Action::segment_unmap:
                event.kind = EventKind::segment_unmap;
                event.flags = kExpandable;
                break;
            case Action::oom:
                event.kind = EventKind::out_of_memory;
                break;
            case Action::snapshot:
                event.kind = EventKind::snapshot;
                break;
            case Action::mark:
                event.kind = EventKind::mark;
                event.aux = std::exchange(event.tag, 0);
                break;
            default:
                note(info_.anomalies.unknown_actions, "an action that is not known");
                return;
        }
        if (event.kind != EventKind::mark && event.kind != EventKind::snapshot)
            event.aux = pool;
        output_.commit();
    }

    // Annotations from before the first entry are left out, except those of ranges that reach into
    // the trace.
    void start_annotations() {
        std::vector<Annotation>& all = contents_.annotations;
        std::stable_sort(all.begin(), all.end(), [](const Annotation& a, const Annotation& b) {
            return a.time_us < b.time_us;
        });
        // Ranges that have begun and not ended, by name and device; the innermost ends first.
        std::unordered_map<std::uint64_t, std::vector<std::size_t>> begun;
        std::size_t early = 0;
        for (; early < all.size() && (all[early].time_us < start_us_ || all_empty()); ++early) {
            const Annotation& annotation = all[early];
            auto& open = begun[std::uint64_t{annotation.name} << 32U | annotation.device];
            if (annotation.begins)
                open.push_back(early);
            else if (!open.empty())
                open.pop_back();
        }
        std::vector<std::size_t> reaching;
        for (const auto& [range, open] : begun)
            reaching.insert(reaching.end(), open.begin(), open.end());
        std::sort(reaching.begin(), reaching.end());
        if (all_empty())
            reaching.clear();
        early_annotations_ = early - reaching.size();
        std::vector<Annotation> open;
        for (const std::size_t index : reaching) {
            open.push_back(all[index]);
            open.back().time_us = start_us_;
        }
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(early));
        all.insert(all.begin(), open.begin(), open.end());
        annotation_us_ = all.empty() ? kNever : all.front().time_us;
    }

    void write_annotations(std::uint64_t until_us) {
        const std::vector<Annotation>& all = contents_.annotations;
        for (; next_annotation_ < all.size() && all[next_annotation_].time_us <= until_us;
             ++next_annotation_) {
            const Annotation& annotation = all[next_annotation_];
            if (!annotation.begins && !annotation.ends)
                continue;
            TraceEvent event;
            event.kind = annotation.begins ? EventKind::range_begin : EventKind::range_end;
            time_ =
                std::max(time_, static_cast<Nanoseconds>(annotation.time_us - start_us_) * 1000);
            event.time = time_;
            event.aux = output_.string(annotation.name);
            event.device = static_cast<std::uint16_t>(
                std::min<std::size_t>(annotation.device, walks_.size() - 1));
            output_.add(event);
        }
        annotation_us_ = next_annotation_ < all.size() ? all[next_annotation_].time_us : kNever;
    }

    void write_final_state() {
        for (const FinalSegment& segment : contents_.segments) {
            const Segment& record = segment.record;
            DeviceWalk& walk = walks_[record.device];
            TraceEvent event;
            event.time = time_;
            event.kind = EventKind::final_segment;
            event.address = record.address;
            event.size = record.size;
            event.stream = output_.stream(record.stream);
            event.aux = output_.pool(record.pool);
            event.device = static_cast<std::uint16_t>(record.device);
            event.flags = static_cast<std::uint8_t>((record.small ? kSmallPool : 0) |
                                                    (record.expandable ? kExpandable : 0));
            output_.add(event);
            event.kind = EventKind::final_block;
            for (std::size_t i = 0; i < segment.block_count; ++i) {
                const Block& block = contents_.blocks[segment.first_block + i];
                event.address = block.address;
                event.size = block.size;
                event.slot =
                    block.state == BlockState::pending ? walk.pending.find(block.address) : kNoSlot;
                if (block.state == BlockState::allocated)
                    event.slot = final_slots_[segment.first_block + i];
                event.flags = block.state == BlockState::allocated ? kActive
                              : block.state == BlockState::pending ? kPending
                                                                   : std::uint8_t{0};
                output_.add(event);
            }
        }
    }

    void note(std::uint64_t& counter, const char* what) {
        ++counter;
        if (!options_.strict || strict_failure_)
            return;
        strict_failure_ = true;
        failure_ = fmt::format("{} (entry {} of device {})", what, entry_number_, entry_device_);
    }

    Contents& contents_;
    const ReadOptions& options_;
    TraceInfo& info_;
    std::vector<DeviceWalk> walks_;
    VacantIds slots_;
    std::vector<std::uint32_t> final_slots_;  // by index in Contents::blocks
    Output output_;
    std::uint64_t start_us_ = 0;
    std::uint64_t annotation_us_ = kNever;  // of the next annotation
    std::size_t next_annotation_ = 0;
    Nanoseconds time_ = 0;
    std::size_t early_annotations_ = 0;
    std::size_t lone_completions_ = 0;
    std::size_t never_completed_ = 0;
    std::size_t entry_number_ = 0;
    std::size_t entry_device_ = 0;
    bool strict_failure_ = false;
    std::string failure_;
};

void warn(TraceInfo& info, std::size_t count, std::string_view what) {
    if (count != 0)
        info.warnings.push_back(fmt::format("{} {}", count, what));
}

void add_warnings(const std::vector<History>& histories, const Contents& contents,
                  const EventWriter& writer, TraceInfo& info) {
    std::size_t misfits = 0;
    std::size_t unallocated = 0;
    for (const History& history : histories) {
        misfits += history.misfits;
        unallocated += history.unallocated;
    }
    warn(info, misfits,
         "entries about segments contradict the state at the dump: the reconstructed state before "
         "the trace may be wrong");
    warn(info, contents.malformed_segments,
         "segments or blocks of the dump lack an address or are outside: left out");
    warn(info, unallocated,
         "blocks are live at the dump although the trace frees them: were some actions left out of "
         "the recording?");
    warn(info, info.cut_off ? 0 : writer.never_freed(),
         "allocations are neither freed nor live at the dump: were some actions left out of the "
         "recording?");
    warn(info, writer.lone_completions(),
         "frees were completed without having been requested: treated as plain frees");
    warn(info, writer.never_completed(),
         "frees were requested, but no entry says when they completed (skip_actions?): treated as "
         "complete immediately, so a replay may need less memory than the program did");
    warn(info, writer.early_annotations(),
         "annotations are from before the first entry of the trace: left out");
}

}  // namespace

Result<void> write_events(Records& records, Contents& contents, TraceSink& sink,
                          const ReadOptions& options, const std::string& name, TraceInfo& info) {
    const Rounding rounding = Rounding::from(contents.settings);
    std::vector<History> histories;
    for (std::size_t device = 0; device < contents.device_count; ++device) {
        histories.push_back(walk_back(records, contents, device, info.cut_off));
        History& history = histories.back();
        if (history.malformed != 0 && !options.lenient)
            return fail(ErrorCode::bad_input,
                        fmt::format("entry {} of device {} lacks its action, address or size",
                                    history.first_malformed, device),
                        name, "the file is damaged; with --lenient such entries are skipped");
        size_early_blocks(history, rounding);
    }
    EventWriter writer(records, contents, sink, options, info);
    TM_TRY(writer.run(histories, name));
    info.begins_inside = info.preamble_count != 0;
    if (info.cut_off)
        info.warnings.push_back(
            "the file is cut off: everything after this point is missing, and the state at the "
            "dump is unknown");
    if (info.begins_inside && !info.is_state())
        info.warnings.push_back(
            fmt::format("the trace starts in the middle: what was live then ({} blocks) is "
                        "reconstructed from the state at the dump",
                        writer.early_blocks()));
    add_warnings(histories, contents, writer, info);
    return {};
}

}  // namespace tidemark::torch
