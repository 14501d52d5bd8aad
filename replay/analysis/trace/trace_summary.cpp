// One pass over the events, with what is live in a table by slot.
#include "replay/analysis/trace/trace_summary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tidemark {
namespace {

constexpr std::size_t kTraceSummaryKinds = 256;
constexpr std::uint64_t kLongestExecutions = std::uint64_t{1}
                                             << 61U;  // ns: that a recording may say

// What is remembered of a live allocation.
struct LiveBlock {
    Bytes size = 0;
    std::uint64_t event = 0;  // counting the program's alone
    Nanoseconds time = 0;
    std::uint32_t pool = 0;
    std::uint16_t device = 0;
    bool live = false;
    bool let_go = false;  // retired: counted among the lifetimes already
};

// A level, and its highest.
struct Level {
    std::uint64_t now = 0;
    Peak peak;

    void raise(std::uint64_t by, std::uint64_t event, Nanoseconds time) {
        now = capped_sum(now, by);
        if (now > peak.value)
            peak = {now, event, time};
    }

    // The device's memory is recorded before the request that it was taken for.
    void settle_peak(std::uint64_t taken_from, std::uint64_t event, Nanoseconds time) {
        if (peak.value > 0 && peak.event >= taken_from) {
            peak.event = event;
            peak.time = time;
        }
    }

    // A file may record more releases than reservations.
    void lower(std::uint64_t by) { now -= std::min(by, now); }
};

class Summary {
  public:
    explicit Summary(const TraceInfo& info)
        : info_(info),
          live_(
              static_cast<std::size_t>(std::min<std::uint64_t>(info.slot_count, info.event_count))),
          streams_(info.streams.size()),
          pools_(std::max<std::size_t>(info.pools.size(), 1)),
          pool_requested_(pools_.size()),
          device_requested_(std::max<std::size_t>(info.devices.size(), 1)),
          device_reserved_(device_requested_.size()) {
        result_.devices.resize(device_requested_.size());
    }

    void add(const EventBatch& batch) {
        for (std::size_t i = 0; i < batch.count; ++i) {
            const TraceEvent event = batch[i];
            ++kinds_[static_cast<std::size_t>(event.kind)];
            if (is_truth(event.kind)) {
                add_truth(event);
            } else {
                ++program_events_;
                if (taken_from_)
                    settle_peaks(event);
                if (to_integer(event.stream) < streams_.size())
                    ++streams_[to_integer(event.stream)].events;
                add_program(event);
            }
            ++result_.events;
        }
    }

    TraceSummary take();

  private:
    void add_program(const TraceEvent& event);
    void allocate(const TraceEvent& event);
    void let_go(const TraceEvent& event);
    void use(const TraceEvent& event);
    void finish(const TraceEvent& event);
    void settle_peaks(const TraceEvent& event);
    void add_truth(const TraceEvent& event);
    void take_ranges();

    LiveBlock* find(std::uint32_t slot) {
        if (slot < live_.size() && live_[slot].live)
            return &live_[slot];
        ++result_.unmatched;
        return nullptr;
    }

    std::size_t device(std::uint16_t index) const {
        return std::min<std::size_t>(index, device_requested_.size() - 1);
    }

    // A pool that the trace doesn't name counts as the default one.
    std::uint32_t pool_of(const TraceEvent& event) const {
        return event.aux < pools_.size() ? event.aux : 0;
    }

    const TraceInfo& info_;
    TraceSummary result_;
    std::array<std::uint64_t, kTraceSummaryKinds> kinds_{};
    std::vector<LiveBlock> live_;  // by slot
    std::vector<StreamSummary> streams_;
    std::vector<PoolSummary> pools_;
    std::vector<std::optional<std::uint32_t>> last_launches_;  // by stream
    std::vector<Level> pool_requested_;
    std::vector<Level> device_requested_;
    std::vector<Level> device_reserved_;
    Level requested_;
    Level count_;
    Level reserved_;
    std::optional<std::uint64_t>
        taken_from_;  // the first of the recorded segments that wait for their request
    HistogramBins sizes_;
    HistogramBins lifetime_events_;
    HistogramBins lifetime_times_;
    std::unordered_map<std::uint32_t, std::uint64_t> ranges_;  // name's index -> begins
    std::uint64_t program_events_ = 0;
};

void Summary::add_program(const TraceEvent& event) {
    switch (event.kind) {
        case EventKind::allocate:
            allocate(event);
            break;
        case EventKind::retire:
            let_go(event);
            break;
        case EventKind::free:
        case EventKind::finish:
            finish(event);
            break;
        case EventKind::use:
            use(event);
            break;
        case EventKind::record_use:
        case EventKind::move:
            find(event.slot);
            break;
        case EventKind::range_begin:
            ++ranges_[event.aux];
            break;
        default:
            break;
    }
}

void Summary::allocate(const TraceEvent& event) {
    if (event.slot < live_.size() && live_[event.slot].live)
        finish(event);  // a trace that reuses a live slot
    ++result_.allocations;
    result_.allocated = capped_sum(result_.allocated, event.size);
    sizes_.add(event.size, event.size);
    result_.preamble_live += (event.flags & kPreamble) != 0 ? 1U : 0U;
    ++result_.devices[device(event.device)].allocations;
    ++pools_[pool_of(event)].allocations;
    pools_[pool_of(event)].allocated += event.size;
    if (to_integer(event.stream) < streams_.size()) {
        StreamSummary& stream = streams_[to_integer(event.stream)];
        ++stream.allocations;
        stream.allocated = capped_sum(stream.allocated, event.size);
    }
    if (event.slot >= live_.size())
        return;
    // The floor is about the device: memory elsewhere, or requests that could fit nowhere, add
    // nothing.
    const bool counts = (event.flags & kTierMask) == 0 && event.size < kLargestRequest;
    const Bytes size = counts ? event.size : 0;
    live_[event.slot] = {size, program_events_, event.time, pool_of(event), event.device, true,
                         false};
    pool_requested_[pool_of(event)].raise(size, result_.events, event.time);
    if (!info_.is_host(device(event.device))) {
        requested_.raise(size, result_.events, event.time);
        count_.raise(1, result_.events, event.time);
    }
    device_requested_[device(event.device)].raise(size, result_.events, event.time);
}

// A launch is a run of uses on one stream with the same number.
void Summary::use(const TraceEvent& event) {
    UseCounts& uses = result_.uses;
    const bool possible = (event.flags & kPerhaps) != 0;
    const std::size_t stream = to_integer(event.stream);
    if (stream >= last_launches_.size())
        last_launches_.resize(stream + 1);
    if (std::exchange(last_launches_[stream], event.aux) != event.aux)
        ++uses.launches;
    if (event.slot == kNoSlot && (event.flags & (kReads | kWrites)) == 0) {
        uses.unknown_launches += possible ? 1U : 0U;
        return;
    }
    ++uses.uses;
    uses.possible += possible ? 1U : 0U;
    find(event.slot);
}

// The end of a lifetime as the program sees it.
void Summary::let_go(const TraceEvent& event) {
    LiveBlock* const live = find(event.slot);
    if (live == nullptr || live->let_go)
        return;
    live->let_go = true;
    lifetime_events_.add(program_events_ - live->event, live->size);
    if (info_.duration <= 0)
        return;
    const auto lived =
        static_cast<std::uint64_t>(event.time) - static_cast<std::uint64_t>(live->time);
    lifetime_times_.add(event.time > live->time ? lived : 0, live->size);
}

// The end of an allocation as the device sees it.
void Summary::finish(const TraceEvent& event) {
    let_go(event);
    if (event.slot >= live_.size() || !live_[event.slot].live)
        return;
    LiveBlock& live = live_[event.slot];
    live.live = false;
    if (!info_.is_host(device(live.device))) {
        requested_.lower(live.size);
        count_.lower(1);
    }
    device_requested_[device(live.device)].lower(live.size);
    pool_requested_[live.pool].lower(live.size);
}

// Where recorded memory peaked is the request that it was taken for, as in a replay.
void Summary::settle_peaks(const TraceEvent& event) {
    reserved_.settle_peak(*taken_from_, result_.events, event.time);
    for (Level& level : device_reserved_)
        level.settle_peak(*taken_from_, result_.events, event.time);
    taken_from_.reset();
}

void Summary::add_truth(const TraceEvent& event) {
    Level& level = device_reserved_[device(event.device)];
    switch (event.kind) {
        case EventKind::segment_alloc:
        case EventKind::segment_map:
            reserved_.raise(event.size, result_.events, event.time);
            level.raise(event.size, result_.events, event.time);
            result_.has_recorded_reserved = true;
            taken_from_ = taken_from_.value_or(result_.events);
            break;
        case EventKind::segment_free:
        case EventKind::segment_unmap:
            reserved_.lower(event.size);
            level.lower(event.size);
            break;
        case EventKind::execution:
            ++result_.uses.executions;
            result_.uses.execution_time =
                std::min(result_.uses.execution_time +
                             static_cast<Nanoseconds>(std::min(event.size, kLongestExecutions)),
                         static_cast<Nanoseconds>(kLongestExecutions));
            break;
        default:
            break;
    }
}

void Summary::take_ranges() {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> ranges(ranges_.begin(), ranges_.end());
    std::ranges::sort(ranges, [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    result_.range_names = ranges.size();
    ranges.resize(std::min(ranges.size(), kRangesShown));
    for (const auto& [name, count] : ranges) {
        const bool known = name < info_.strings.size();
        result_.ranges.push_back({known ? std::string(info_.strings[name]) : "", count});
    }
}

TraceSummary Summary::take() {
    for (std::size_t kind = 0; kind < kTraceSummaryKinds; ++kind) {
        if (kinds_[kind] > 0)
            result_.kinds.push_back({static_cast<EventKind>(kind), kinds_[kind]});
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        if (streams_[i].events == 0)
            continue;
        streams_[i].stream = StreamId{static_cast<std::uint32_t>(i)};
        streams_[i].handle = info_.streams[i];
        result_.streams.push_back(streams_[i]);
    }
    for (std::size_t i = 0; i < pools_.size(); ++i) {
        if (pools_[i].allocations == 0)
            continue;
        pools_[i].pool = PoolId{static_cast<std::uint32_t>(i)};
        pools_[i].peak_requested = pool_requested_[i].peak.value;
        result_.pools.push_back(pools_[i]);
    }
    for (std::size_t i = 0; i < result_.devices.size(); ++i) {
        result_.devices[i].requested = device_requested_[i].peak;
        result_.devices[i].recorded_reserved = device_reserved_[i].peak;
    }
    for (const LiveBlock& live : live_) {
        result_.never_freed += live.live ? 1U : 0U;
        result_.never_freed_bytes =
            capped_sum(result_.never_freed_bytes, live.live ? live.size : 0);
    }
    result_.out_of_memory = kinds_[static_cast<std::size_t>(EventKind::out_of_memory)];
    result_.requested = requested_.peak;
    result_.live = count_.peak;
    result_.recorded_reserved = reserved_.peak;
    result_.sizes = sizes_.take();
    result_.lifetime_events = lifetime_events_.take();
    result_.lifetime_times = lifetime_times_.take();
    take_ranges();
    return std::move(result_);
}

}  // namespace

Result<TraceSummary> summarize(const Trace& trace,
                               const std::function<void(std::uint64_t events_done)>& progress) {
    Summary summary(trace.info());
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    std::uint64_t done = 0;
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return summary.take();
        summary.add(batch);
        done += batch.count;
        if (progress)
            progress(done);
    }
}

}  // namespace tidemark
