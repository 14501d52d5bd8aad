// One pass up to the window, which remembers what is live at its start, and on through it.
#include "replay/analysis/cut/cut.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/base/vacant_ids.h"
#include "core/policies/torch_settings.h"
#include "traces/model/event_buffer.h"
#include "traces/readers/torch_preamble.h"

namespace tidemark {
namespace {

constexpr Bytes kSmallest = 512;      // the least that PyTorch splits off
constexpr Bytes kUnsplitMax = 1_MiB;  // and what it does not, in the pool of large blocks

// A block that is live when the window begins.
struct CutLive {
    TraceEvent request;
    std::vector<StreamId> users;  // named by record_use
    Bytes block = 0;              // its size; 0 if it isn't in memory that the trace knows
    bool retired = false;
};

// Memory that the recorded allocator held on one device, by address.
using Runs = std::map<std::uint64_t, TraceEvent>;

bool borders(const TraceEvent& left, const TraceEvent& right) {
    return left.kind == EventKind::segment_map && right.kind == left.kind &&
           left.address + left.size == right.address && left.stream == right.stream &&
           left.aux == right.aux && (left.flags & kSmallPool) == (right.flags & kSmallPool);
}

void add_run(Runs& runs, TraceEvent run) {
    if (run.size <= policies::kTorchSmallSegment)
        run.flags |= kSmallPool;
    if (run.kind == EventKind::segment_map)
        run.flags |= kExpandable;
    auto next = runs.upper_bound(run.address);
    if (next != runs.end() && borders(run, next->second)) {
        run.size += next->second.size;
        next = runs.erase(next);
    }
    if (next != runs.begin() && borders(std::prev(next)->second, run))
        std::prev(next)->second.size += run.size;
    else
        runs[run.address] = run;
}

// Pages may go from anywhere in a run.
void drop_run(Runs& runs, const TraceEvent& gone) {
    auto found = runs.upper_bound(gone.address);
    if (found == runs.begin())
        return;
    --found;
    const TraceEvent run = found->second;
    const std::uint64_t before = gone.address - run.address;
    if (before >= run.size)
        return;
    const Bytes size = gone.size == 0 ? run.size : std::min(gone.size, run.size - before);
    runs.erase(found);
    if (before > 0) {
        runs[run.address] = run;
        runs[run.address].size = before;
    }
    if (before + size < run.size) {
        TraceEvent rest = run;
        rest.address = gone.address + size;
        rest.size = run.size - before - size;
        runs[rest.address] = rest;
    }
}

class Cutter {
  public:
    Cutter(const Trace& trace, const CutEvents& events, TraceSink& sink)
        : trace_(trace),
          events_(events),
          rounding_(torch::Rounding::from(trace.info().settings)),
          out_(sink),
          live_(trace.info().slot_count),
          runs_(trace.info().devices.size()),
          ends_(trace.info().devices.size()),
          slot_of_(trace.info().slot_count, kNoSlot) {}

    Result<TraceInfo> cut();

  private:
    void remember(const TraceEvent& event);
    void remember_about_slot(const TraceEvent& event);
    Result<void> begin(Nanoseconds time);
    Result<void> write_device(std::size_t device, std::vector<std::uint32_t>& slots);
    Result<void> write_live(std::uint32_t slot);
    Result<void> write(TraceEvent event);
    TraceInfo info() const;

    Bytes granted(const TraceEvent& request) const;
    void end_block(const TraceEvent& request);

    const Trace& trace_;
    CutEvents events_;
    torch::Rounding rounding_;
    EventBuffer out_;
    std::vector<CutLive> live_;
    std::vector<Runs> runs_;  // by device
    std::vector<std::map<std::uint64_t, std::uint64_t>>
        ends_;                        // of live blocks, by device, address
    std::vector<TraceEvent> opened_;  // ranges and pools that are open
    std::vector<std::uint32_t> slot_of_;
    VacantIds slots_;
    Bytes preamble_block_ = 0;  // of the preamble's next allocation
    Nanoseconds start_ = 0;
    Nanoseconds last_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t preamble_ = 0;
    std::uint64_t preamble_live_ = 0;
};

// How large PyTorch made the block of a request: what is free at its address, or the rounded
// request if the rest of that is worth splitting off.
Bytes Cutter::granted(const TraceEvent& request) const {
    const Runs& runs = runs_[request.device];
    auto run = runs.upper_bound(request.address);
    if (request.address == 0 || run == runs.begin() || request.size >= kLargestRequest)
        return 0;
    --run;
    if (request.address - run->first >= run->second.size)
        return 0;
    const auto next = ends_[request.device].upper_bound(request.address);
    std::uint64_t end = run->first + run->second.size;
    if (next != ends_[request.device].end())
        end = std::min(end, next->first);
    const Bytes room = end - request.address;
    const Bytes rounded = rounding_.round(request.size);
    if (rounded >= room)
        return room;
    const bool splits_all = (run->second.flags & (kExpandable | kSmallPool)) != 0;
    const bool splits = splits_all ? room - rounded >= kSmallest
                                   : room - rounded > kUnsplitMax && rounded < rounding_.max_split;
    return splits ? rounded : room;
}

void Cutter::end_block(const TraceEvent& request) {
    if (request.slot != kNoSlot && request.device < ends_.size())
        ends_[request.device].erase(request.address);
}

void Cutter::remember_about_slot(const TraceEvent& event) {
    CutLive& live = live_[event.slot];
    switch (event.kind) {
        case EventKind::allocate:
            end_block(live.request);
            live = {event, {}, 0, false};
            if (event.device < ends_.size()) {
                live.block = (event.flags & kPreamble) != 0 ? preamble_block_ : granted(event);
                if (live.block > 0)
                    ends_[event.device][event.address] = event.address + live.block;
            }
            break;
        case EventKind::free:
        case EventKind::finish:
            end_block(live.request);
            live = {};
            break;
        case EventKind::retire:
            live.retired = true;
            break;
        case EventKind::record_use:
            live.users.push_back(event.stream);
            break;
        case EventKind::move:
            live.request.flags = static_cast<std::uint8_t>((live.request.flags & ~kTierMask) |
                                                           (event.flags & kTierMask));
            break;
        default:
            break;
    }
}

void Cutter::remember(const TraceEvent& event) {
    const auto close = [&](EventKind opener) {
        const auto found =
            std::find_if(opened_.rbegin(), opened_.rend(), [&](const TraceEvent& open) {
                return open.kind == opener && open.aux == event.aux && open.device == event.device;
            });
        if (found != opened_.rend())
            opened_.erase(std::next(found).base());
    };
    const bool known_device = event.device < runs_.size();
    switch (event.kind) {
        case EventKind::segment_alloc:
        case EventKind::segment_map:
            if (known_device)
                add_run(runs_[event.device], event);
            break;
        case EventKind::segment_free:
        case EventKind::segment_unmap:
            if (known_device)
                drop_run(runs_[event.device], event);
            break;
        case EventKind::block:
            preamble_block_ = event.size;
            break;
        case EventKind::range_begin:
        case EventKind::pool_begin:
            opened_.push_back(event);
            break;
        case EventKind::range_end:
            close(EventKind::range_begin);
            break;
        case EventKind::pool_end:
            close(EventKind::pool_begin);
            break;
        default:
            if (event.slot < live_.size() && !is_truth(event.kind))
                remember_about_slot(event);
    }
}

Result<void> Cutter::write(TraceEvent event) {
    event.time = event.time > start_ ? event.time - start_ : 0;
    if (event.kind == EventKind::execution)  // which begins at a time
        event.address -= std::min(event.address, static_cast<std::uint64_t>(start_));
    last_ = event.time;
    ++written_;
    return out_.add(event);
}

Result<void> Cutter::write_live(std::uint32_t slot) {
    const CutLive& live = live_[slot];
    TraceEvent event = live.request;
    event.time = 0;
    event.flags = static_cast<std::uint8_t>(event.flags | kPreamble);
    if (live.block > 0) {
        TraceEvent around = event;
        around.kind = EventKind::block;
        around.size = live.block;
        around.slot = kNoSlot;
        around.stack = around.tag = 0;
        around.flags = static_cast<std::uint8_t>(kPreamble | (live.retired ? kPending : 0));
        TM_TRY(write(around));
    }
    event.slot = slot_of_[slot] = slots_.take();
    TM_TRY(write(event));
    ++preamble_live_;
    if (!live.retired)
        return {};
    event.kind = EventKind::retire;
    return write(event);
}

// A device's segments with the blocks in them; then the blocks outside of any.
Result<void> Cutter::write_device(std::size_t device, std::vector<std::uint32_t>& slots) {
    std::ranges::sort(slots, [this](std::uint32_t a, std::uint32_t b) {
        return std::pair(live_[a].request.address, a) < std::pair(live_[b].request.address, b);
    });
    std::vector<std::uint32_t> loose;
    auto slot = slots.begin();
    for (const auto& [address, run] : runs_[device]) {
        TraceEvent event = run;
        event.time = 0;
        event.flags = static_cast<std::uint8_t>(event.flags | kPreamble);
        TM_TRY(write(event));
        for (; slot != slots.end() && live_[*slot].request.address < address + run.size; ++slot) {
            const std::uint64_t at = live_[*slot].request.address;
            if (at < address) {
                loose.push_back(*slot);
                continue;
            }
            TM_TRY(write_live(*slot));
        }
    }
    loose.insert(loose.end(), slot, slots.end());
    for (const std::uint32_t each : loose) {
        live_[each].block = 0;
        TM_TRY(write_live(each));
    }
    return {};
}

// What existed before the window's first event, at `time`.
Result<void> Cutter::begin(Nanoseconds time) {
    start_ = time;
    std::vector<std::vector<std::uint32_t>> slots(runs_.size());
    for (std::uint32_t slot = 0; slot < live_.size(); ++slot)
        if (live_[slot].request.slot != kNoSlot)
            slots[std::min<std::size_t>(live_[slot].request.device, runs_.size() - 1)].push_back(
                slot);
    for (std::size_t device = 0; device < runs_.size(); ++device)
        TM_TRY(write_device(device, slots[device]));
    preamble_ = written_;
    for (std::uint32_t slot = 0; slot < live_.size(); ++slot) {
        TraceEvent use = live_[slot].request;
        use.kind = EventKind::record_use;
        use.slot = slot_of_[slot];
        for (const StreamId user : live_[slot].users) {
            use.stream = user;
            TM_TRY(write(use));
        }
    }
    for (const TraceEvent& open : opened_)
        TM_TRY(write(open));
    return {};
}

Result<TraceInfo> Cutter::cut() {
    std::uint64_t index = 0;
    const auto cursor = trace_.cursor();
    while (index < events_.end) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count && index < events_.end; ++i, ++index) {
            TraceEvent event = batch[i];
            if (index == events_.begin && index > 0)
                TM_TRY(begin(event.time));
            if (index < events_.begin) {
                remember(event);
                continue;
            }
            if (event.slot < slot_of_.size()) {
                std::uint32_t& slot = slot_of_[event.slot];
                if (event.kind == EventKind::allocate && slot == kNoSlot)
                    slot = slots_.take();
                const bool ends = event.kind == EventKind::free || event.kind == EventKind::finish;
                const std::uint32_t renamed = slot;
                if (ends && slot != kNoSlot)
                    slots_.give_back(std::exchange(slot, kNoSlot));
                event.slot = renamed;
            }
            preamble_ += events_.begin == 0 && (event.flags & kPreamble) != 0 ? 1U : 0U;
            TM_TRY(write(event));
        }
    }
    TM_TRY(out_.flush());
    return info();
}

TraceInfo Cutter::info() const {
    TraceInfo info = trace_.info();
    const std::uint64_t all = info.event_count;
    info.event_count = written_;
    info.preamble_count = preamble_;
    info.slot_count = slots_.count();
    info.begins_inside = info.begins_inside || preamble_ > 0;
    info.start_time += info.start_time == 0 ? 0 : start_;
    info.duration = last_;
    info.anomalies = {};
    info.warnings = {fmt::format("a cut: events {} to {} of {}", format_count(events_.begin),
                                 format_count(events_.end - 1), format_count(all))};
    if (preamble_live_ > 0)
        info.warnings.push_back(
            fmt::format("the trace starts in the middle of the run, with {} live",
                        format_counted(preamble_live_, "block")));
    return info;
}

}  // namespace

Result<TraceInfo> cut_trace(const Trace& trace, const CutEvents& events, TraceSink& sink) {
    // A preamble is taken whole.
    const CutEvents taken{events.begin < trace.info().preamble_count ? 0 : events.begin,
                          events.end};
    return Cutter(trace, taken, sink).cut();
}

}  // namespace tidemark
