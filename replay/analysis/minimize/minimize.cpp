// First the events after the one that shows it go, then all uses, then units in ever smaller
// chunks.
#include "replay/analysis/minimize/minimize.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/base/threads.h"
#include "core/base/vacant_ids.h"
#include "replay/analysis/minimize/trace_units.h"
#include "traces/model/event_columns.h"

namespace tidemark {
namespace {

// A candidate: some of a trace's events.
class CandidateTrace final : public Trace {
  public:
    // `info` must outlive it, but for its counts, which are those of `events`.
    CandidateTrace(std::vector<TraceEvent> events, const TraceInfo& info)
        : events_(std::move(events)), info_(info) {
        info_.event_count = events_.size();
        info_.duration = events_.empty() ? 0 : events_.back().time;
    }

    const TraceInfo& info() const override { return info_; }

    std::uint64_t hash() const override { return 0; }  // nobody keeps it

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<Cursor>(events_);
    }

  private:
    class Cursor final : public TraceCursor {
      public:
        explicit Cursor(const std::vector<TraceEvent>& events) : left_(events) {}

        Result<EventBatch> next() override {
            constexpr std::size_t kBatch = 4096;
            const std::size_t count = std::min(kBatch, left_.size());
            columns_.assign(left_.first(count));
            left_ = left_.subspan(count);
            return columns_.batch();
        }

      private:
        std::span<const TraceEvent> left_;
        EventColumns columns_;
    };

    std::vector<TraceEvent> events_;
    TraceInfo info_;
};

// What a candidate needs of the trace's information: names and stacks would only be copied.
TraceInfo info_for_candidates(const TraceInfo& whole) {
    TraceInfo info;
    info.format = whole.format;
    info.source = whole.source;
    info.slot_count = whole.slot_count;
    info.devices = whole.devices;
    info.streams = whole.streams;
    info.pools = whole.pools;
    info.settings = whole.settings;
    info.metadata = whole.metadata;
    return info;
}

class Reduction {
  public:
    Reduction(const Trace& trace, TraceUnits units, const ShownBy& shown,
              const MinimizeOptions& options)
        : info_(info_for_candidates(trace.info())),
          events_(std::move(units.events)),
          unit_(std::move(units.unit)),
          unit_count_(units.count),
          shown_(shown),
          options_(options),
          total_(events_.size()),
          threads_(options.threads == 0 ? hardware_threads() : options.threads) {}

    // Whether all there is shows it.
    Result<bool> shows() const { return shown_(CandidateTrace(events_, info_)); }

    // Leaves out what comes after the shortest beginning that shows it.
    Result<void> end_early();

    // Leaves out what allocations are used for, if it shows without.
    Result<void> leave_out_uses();

    // Leaves out units, until none can go alone.
    Result<void> leave_out_units();

    const std::vector<TraceEvent>& events() const { return events_; }

    std::uint64_t replays() const { return replays_; }

    bool stopped() const { return stopped_; }

  private:
    bool stop() { return stopped_ = stopped_ || (options_.stop && options_.stop()); }

    Result<bool> walk(std::vector<std::uint32_t>& units, std::size_t chunk);
    Result<std::optional<std::size_t>> first_that_can_go(std::span<const std::uint32_t> units,
                                                         std::size_t chunk, std::size_t chunks);
    std::vector<bool> stays_without(std::span<const std::uint32_t> units) const;
    void leave_out(std::span<const std::uint32_t> units);

    TraceInfo info_;
    std::vector<TraceEvent> events_;
    std::vector<std::uint32_t> unit_;
    std::uint32_t unit_count_;  // every unit is below this
    const ShownBy& shown_;
    const MinimizeOptions& options_;
    std::uint64_t total_;
    std::uint64_t replays_ = 0;
    unsigned threads_;
    bool stopped_ = false;
};

Result<void> Reduction::end_early() {
    std::size_t too_short = 0;
    std::size_t enough = events_.size();
    while (too_short + 1 < enough && !stop()) {
        const std::size_t middle = too_short + (enough - too_short) / 2;
        ++replays_;
        TM_ASSIGN(const bool shows,
                  shown_(CandidateTrace({events_.begin(), events_.begin() + std::ptrdiff_t(middle)},
                                        info_)));
        (shows ? enough : too_short) = middle;
    }
    events_.resize(enough);
    unit_.resize(enough);
    return {};
}

Result<void> Reduction::leave_out_uses() {
    std::vector<TraceEvent> events;
    std::vector<std::uint32_t> unit;
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const EventKind kind = events_[i].kind;
        if (kind == EventKind::use || kind == EventKind::record_use || kind == EventKind::move)
            continue;
        events.push_back(events_[i]);
        unit.push_back(unit_[i]);
    }
    if (events.size() == events_.size() || stop())
        return {};
    ++replays_;
    TM_ASSIGN(const bool shows, shown_(CandidateTrace(events, info_)));
    if (shows) {
        events_ = std::move(events);
        unit_ = std::move(unit);
    }
    return {};
}

// By event: whether it is of none of `units`.
std::vector<bool> Reduction::stays_without(std::span<const std::uint32_t> units) const {
    std::vector<bool> gone(unit_count_, false);
    for (const std::uint32_t unit : units)
        gone[unit] = true;
    std::vector<bool> stays(events_.size());
    for (std::size_t i = 0; i < events_.size(); ++i)
        stays[i] = !gone[unit_[i]];
    return stays;
}

template <class T>
std::vector<T> those_that_stay(const std::vector<T>& all, const std::vector<bool>& stays) {
    std::vector<T> left;
    left.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        if (stays[i])
            left.push_back(all[i]);
    return left;
}

void Reduction::leave_out(std::span<const std::uint32_t> units) {
    const std::vector<bool> stays = stays_without(units);
    events_ = those_that_stay(events_, stays);
    unit_ = those_that_stay(unit_, stays);
    if (options_.progress)
        options_.progress(total_ - events_.size(), total_);
}

// The first of the first `chunks` chunks of `units` without which it still shows. Threads test them
// in parallel; results behind the first are ignored, as if they had not been tested.
Result<std::optional<std::size_t>> Reduction::first_that_can_go(
    std::span<const std::uint32_t> units, std::size_t chunk, std::size_t chunks) {
    std::vector<Result<bool>> outcomes(chunks, false);
    parallel_for(chunks, threads_, [&](std::size_t index, unsigned /*thread*/) {
        const std::size_t begin = index * chunk;
        const auto part = units.subspan(begin, std::min(chunk, units.size() - begin));
        outcomes[index] =
            shown_(CandidateTrace(those_that_stay(events_, stays_without(part)), info_));
        return outcomes[index].has_value() && !*outcomes[index];
    });
    for (std::size_t index = 0; index < chunks; ++index) {
        ++replays_;
        TM_ASSIGN(const bool shows, std::move(outcomes[index]));
        if (shows)
            return std::optional(index);
    }
    return std::optional<std::size_t>();
}

// One walk over `units`, `chunk` of them at a time; true: some could go.
Result<bool> Reduction::walk(std::vector<std::uint32_t>& units, std::size_t chunk) {
    bool some = false;
    std::size_t at = 0;
    while (at < units.size() && !stop()) {
        const std::span<const std::uint32_t> left = std::span(units).subspan(at);
        const std::size_t chunks =
            std::min<std::size_t>(threads_, (left.size() + chunk - 1) / chunk);
        TM_ASSIGN(const std::optional<std::size_t> found, first_that_can_go(left, chunk, chunks));
        if (!found) {
            at += chunk * chunks;
            continue;
        }
        at += *found * chunk;
        const auto begin = units.begin() + std::ptrdiff_t(at);
        const auto end = begin + std::ptrdiff_t(std::min(chunk, units.size() - at));
        leave_out({begin, end});
        units.erase(begin, end);
        some = true;
    }
    return some;
}

Result<void> Reduction::leave_out_units() {
    std::vector<std::uint32_t> units = removal_order(events_, unit_);
    std::size_t chunk = (units.size() + 1) / 2;
    while (!units.empty() && !stopped_) {
        TM_ASSIGN(const bool some, walk(units, std::max<std::size_t>(chunk, 1)));
        if (chunk <= 1 && !some)
            return {};
        chunk /= 2;
    }
    return {};
}

TraceSize size_of(const std::vector<TraceEvent>& events) {
    return {.events = events.size(),
            .allocations = static_cast<std::uint64_t>(
                std::ranges::count(events, EventKind::allocate, &TraceEvent::kind))};
}

// Gives allocations that are live at the same time the smallest possible slots.
std::uint32_t renumber_slots(std::vector<TraceEvent>& events, std::uint32_t slot_count) {
    std::vector<std::uint32_t> new_slot(slot_count, kNoSlot);
    VacantIds ids;
    for (TraceEvent& event : events) {
        if (event.slot >= new_slot.size())
            continue;
        std::uint32_t& slot = new_slot[event.slot];
        if (event.kind == EventKind::allocate && slot == kNoSlot)
            slot = ids.take();
        const bool ends = event.kind == EventKind::free || event.kind == EventKind::finish;
        event.slot = slot;
        if (ends && slot != kNoSlot)
            ids.give_back(std::exchange(slot, kNoSlot));
    }
    return ids.count();
}

}  // namespace

Result<MinimizedTrace> minimize_trace(const Trace& trace, const ShownBy& shown,
                                      const MinimizeOptions& options) {
    TM_ASSIGN(TraceUnits units, trace_units(trace));
    MinimizedTrace result;
    result.before = size_of(units.events);
    Reduction reduction(trace, std::move(units), shown, options);
    TM_ASSIGN(const bool shows, reduction.shows());
    if (!shows)
        return fail(ErrorCode::unsupported, "the trace shows it only with its recorded placement",
                    {}, "name a policy with -p, or cut the recording instead (`tidemark cut`)");
    TM_TRY(reduction.end_early());
    TM_TRY(reduction.leave_out_uses());
    TM_TRY(reduction.leave_out_units());
    result.events = reduction.events();
    result.after = size_of(result.events);
    result.replays = reduction.replays();
    result.complete = !reduction.stopped();
    result.info = trace.info();
    TraceInfo& info = result.info;
    info.event_count = result.events.size();
    info.preamble_count = 0;
    info.slot_count = renumber_slots(result.events, info.slot_count);
    info.duration = result.events.empty() ? 0 : result.events.back().time;
    info.begins_inside = info.cut_off = false;
    info.anomalies = {};
    info.warnings = {};
    return result;
}

}  // namespace tidemark
