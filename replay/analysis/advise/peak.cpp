// Finding the moments, then looking at them.
#include "replay/analysis/advise/peak.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/policies/torch_settings.h"

namespace tidemark {
namespace {

constexpr std::size_t kDeepest = 256;  // open ranges that are kept in mind

// The events at which the moments are.
struct Positions {
    std::uint64_t reserved = kNotInTrace;
    std::uint64_t fullest = kNotInTrace;
    std::uint64_t allocated = kNotInTrace;
    std::uint64_t growth = kNotInTrace;
    bool refuses = false;  // the growth is a failed request: what was free then, its caches emptied
};

class PeakFinder final : public Observer {
  public:
    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        for (std::size_t i = 0; i < events.count; ++i) {
            const Usage& usage = outcomes.usage[i];
            if (usage.allocated > allocated_) [[unlikely]] {
                allocated_ = usage.allocated;
                positions_.allocated = outcomes.first_event + i;
            }
            if (usage.reserved > reserved_) [[unlikely]]
                grow(usage.reserved, events[i], outcomes.first_event + i);
            if (usage.reserved == reserved_ && usage.active > fullest_) {
                fullest_ = usage.active;
                positions_.fullest = outcomes.first_event + i;
            }
            last_ = usage;
        }
    }

    const Positions& positions() const { return positions_; }

  private:
    void grow(Bytes reserved, const TraceEvent& what, std::uint64_t event) {
        reserved_ = reserved;
        fullest_ = 0;
        positions_.reserved = positions_.fullest = event;
        const bool large = what.size > policies::kTorchSmallMax;
        const Bytes unused = last_.reserved - std::min(last_.reserved, last_.active);
        if (positions_.growth != kNotInTrace &&
            std::pair(large, unused) < std::pair(large_, unused_))
            return;
        large_ = large;
        unused_ = unused;
        positions_.growth = event;
    }

    Positions positions_;
    Usage last_;
    Bytes reserved_ = 0;
    Bytes fullest_ = 0;  // active bytes there
    Bytes allocated_ = 0;
    bool large_ = false;  // of the growth chosen so far: was it for a large request,
    Bytes unused_ = 0;    // and what was free before it
};

// Follows live allocations and open ranges; keeps the moments that it passes.
class Watcher final : public Observer {
  public:
    Watcher(const TraceInfo& info, const Positions& positions)
        : info_(info),
          positions_(positions),
          live_(info.slot_count),
          at_growth_(info.slot_count, kNoSlot) {
        snapshot_.range_visits.resize(info.strings.size());
    }

    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        for (std::size_t i = 0; i < events.count; ++i) {
            const std::uint64_t event = outcomes.first_event + i;
            if (event == positions_.growth)
                keep(snapshot_.growth, at_growth_);
            see(events, outcomes, i);
            usage_ = outcomes.usage[i];
            requested_ = outcomes.requested[i];
            if (event == positions_.fullest)
                keep(snapshot_.fullest, no_one_);
            if (event == positions_.reserved)
                note(snapshot_.reserved);
            if (event == positions_.allocated)
                keep(snapshot_.allocated, no_one_);
            for (Moment* moment :
                 {&snapshot_.reserved, &snapshot_.fullest, &snapshot_.allocated, &snapshot_.growth})
                if (event == position_of(*moment))
                    name(*moment, event, events[i]);
        }
    }

    PeakSnapshot take() { return std::move(snapshot_); }

  private:
    std::uint64_t position_of(const Moment& moment) const {
        return &moment == &snapshot_.reserved    ? positions_.reserved
               : &moment == &snapshot_.fullest   ? positions_.fullest
               : &moment == &snapshot_.allocated ? positions_.allocated
                                                 : positions_.growth;
    }

    void see(const EventBatch& events, const OutcomeBatch& outcomes, std::size_t i) {
        switch (events.kind[i]) {
            case EventKind::allocate:
                begin_life(events[i], outcomes.granted[i], outcomes.first_event + i);
                return;
            case EventKind::retire:
            case EventKind::free:
            case EventKind::finish:
                end_life(events, i, outcomes.first_event + i);
                return;
            case EventKind::record_use:
                if (events.slot[i] < live_.size())
                    live_[events.slot[i]].recorded = true;
                return;
            case EventKind::range_begin:
                open(events.aux[i]);
                return;
            case EventKind::range_end:
                close(events.aux[i]);
                return;
            case EventKind::mark:
                mark_ = events.aux[i];
                return;
            default:
                return;
        }
    }

    void begin_life(const TraceEvent& what, Address granted, std::uint64_t event) {
        if (what.slot >= live_.size() || (what.flags & kTierMask) != 0)
            return;
        LiveBlock& block = live_[what.slot];
        if (block.slot != kNoSlot)
            set_end(what.slot, event, what.time);
        block = {};
        if (granted == Address::null || info_.is_host(what.device))
            return;
        block.requested = what.size;
        block.address = granted;
        block.born = event;
        block.born_time = what.time;
        block.stack = what.stack;
        block.annotation = what.tag != 0 ? what.tag : open_.empty() ? 0 : open_.back().name;
        block.slot = what.slot;
        block.stream = what.stream;
        block.pool = PoolId{what.aux};
        block.device = what.device;
    }

    void end_life(const EventBatch& events, std::size_t i, std::uint64_t event) {
        const std::uint32_t slot = events.slot[i];
        if (slot >= live_.size() || live_[slot].slot == kNoSlot)
            return;
        if (!live_[slot].retired)
            set_end(slot, event, events.time[i]);
        if (events.kind[i] == EventKind::retire)
            live_[slot].retired = true;
        else
            live_[slot] = {};
    }

    // Notes for the moment of growth when the block in `slot` ends, if it holds that block.
    void set_end(std::uint32_t slot, std::uint64_t event, Nanoseconds time) {
        if (at_growth_[slot] == kNoSlot)
            return;
        LiveBlock& block = snapshot_.growth.live[at_growth_[slot]];
        block.ends = event;
        block.end_time = time;
        at_growth_[slot] = kNoSlot;
    }

    void open(std::uint32_t name) {
        if (name >= snapshot_.range_visits.size())
            return;
        const std::uint64_t visit = ++snapshot_.range_visits[name];
        if (open_.size() < kDeepest)
            open_.push_back({name, visit});
    }

    void close(std::uint32_t name) {
        const auto found =
            std::find_if(open_.rbegin(), open_.rend(),
                         [name](const RangeVisit& range) { return range.name == name; });
        if (found == open_.rend())
            return;
        after_ = *found;
        open_.erase(std::next(found).base());
    }

    void note(Moment& moment) const {
        moment.usage = usage_;
        moment.requested = requested_;
    }

    // Copies the state as it is now; `index` learns where each slot went, if it has room for them.
    void keep(Moment& moment, std::vector<std::uint32_t>& index) {
        note(moment);
        for (const LiveBlock& block : live_) {
            if (block.slot == kNoSlot)
                continue;
            if (!index.empty() && !block.retired)
                index[block.slot] = static_cast<std::uint32_t>(moment.live.size());
            moment.live.push_back(block);
        }
    }

    void name(Moment& moment, std::uint64_t event, const TraceEvent& what) {
        moment.event = event;
        moment.time = what.time;
        moment.what = what;
        moment.inside = open_;
        moment.after = after_;
        moment.mark = mark_;
    }

    const TraceInfo& info_;
    Positions positions_;
    PeakSnapshot snapshot_;
    std::vector<LiveBlock> live_;           // by slot; slot == kNoSlot: vacant
    std::vector<std::uint32_t> at_growth_;  // the same of snapshot_.growth.live
    std::vector<std::uint32_t> no_one_;     // of a moment that needs no ends
    std::vector<RangeVisit> open_;
    RangeVisit after_;
    std::uint32_t mark_ = 0;
    Usage usage_;
    Bytes requested_ = 0;
};

// Stops by at the moments.
Result<PeakSnapshot> look(const Trace& trace, const TrialSetup& setup, const Positions& positions) {
    const TraceInfo& info = trace.info();
    TM_ASSIGN(Machine machine, trial_machine(trace, setup));
    Watcher watcher(info, positions);
    std::vector<std::vector<Region>> at_peak;
    std::vector<std::vector<Region>> at_growth;
    ReplayLimits limits;
    limits.before_event = [&](std::uint64_t event) {
        if (positions.growth != kNotInTrace &&
            event == positions.growth + (positions.refuses ? 1 : 0))
            at_growth = machine.regions();
        if (positions.fullest != kNotInTrace && event == positions.fullest + 1)
            at_peak = machine.regions();
    };
    Observer* const observers[] = {&watcher};
    TM_ASSIGN(const ReplaySummary summary,
              machine.replay(info, *trace.cursor(), observers, std::move(limits)));
    if (positions.fullest != kNotInTrace && positions.fullest + 1 == summary.events)
        at_peak = machine.regions();  // the peak is the trace's last event
    if (positions.refuses && positions.growth + 1 == summary.events)
        at_growth = machine.regions();
    for (auto* regions : {&at_peak, &at_growth})
        regions->resize(std::min(regions->size(), std::max<std::size_t>(info.gpus(), 1)));
    PeakSnapshot snapshot = watcher.take();
    snapshot.at_peak = std::move(at_peak);
    snapshot.at_growth = std::move(at_growth);
    return snapshot;
}

}  // namespace

Result<PeakSnapshot> find_peak(const Trace& trace, const TrialSetup& setup, Observer* also) {
    TM_ASSIGN(Machine machine, trial_machine(trace, setup));
    PeakFinder finder;
    std::vector<Observer*> observers{&finder};
    if (also != nullptr)
        observers.push_back(also);
    TM_TRY(machine.replay(trace.info(), *trace.cursor(), observers, {}));
    return look(trace, setup, finder.positions());
}

Result<PeakSnapshot> find_refusal(const Trace& trace, const TrialSetup& setup,
                                  std::uint64_t event) {
    return look(trace, setup, {.growth = event, .refuses = true});
}

}  // namespace tidemark
