// What a run shows by itself: each rule looks at marks, at curves of a thousand columns, or at the
// memory of one instant.
#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "replay/analysis/trace/sites.h"
#include "replay/facts/unfit_request.h"
#include "replay/findings/find.h"
#include "replay/timeline/memory_spans.h"

namespace tidemark::findings {
namespace {

constexpr std::size_t kFromHistoryShownRefusals = 5;
constexpr std::size_t kFromHistoryColumns = 1024;  // of the curves that rules look at
constexpr double kCloseToFull = 0.95;              // of the memory there is
constexpr double kLargeGap = 0.2;                  // of reserved memory
constexpr double kLong = 0.1;                      // of the run
constexpr double kMuchRounding = 0.05;             // of active memory
constexpr double kMuchWaiting = 0.1;               // of active memory
constexpr double kMuchPinned = 0.05;               // of reserved memory
constexpr std::size_t kSmallInSpan = 8;            // a block that pins so many times its size

class HistoryRules {
  public:
    HistoryRules(const History& history, const std::atomic<bool>& cancelled)
        : history_(history),
          cancelled_(cancelled),
          events_(static_cast<EventIndex>(history.counts().events)) {}

    std::vector<Finding> all() {
        if (events_ == 0)
            return {};
        look_at_refusals();
        look_at_marks();
        look_at_capacity();
        look_at_growth();
        look_at_pins();
        look_at_rounding();
        look_at_curves();
        put_in_order(found_);
        return std::move(found_);
    }

  private:
    Finding& add(Kind kind, Severity severity, EventIndex event, std::vector<Figure> figures) {
        Finding finding;
        finding.kind = kind;
        finding.severity = severity;
        finding.figures = std::move(figures);
        if (event != kNever) {
            finding.event = event;
            if (event < events_ && history_.end(AxisUnit::time) > 1)
                finding.time = history_.time(event);
        }
        found_.push_back(std::move(finding));
        return found_.back();
    }

    Bytes at(EventIndex event, Series series) const { return history_.values(event)[series]; }

    void look_at_marks();
    void look_at_refusals();
    void look_at_capacity();
    void look_at_growth();
    void look_at_pins();
    void look_at_rounding();
    void look_at_curves();
    void add_idle(const std::vector<SeriesColumn>& columns);
    void add_waiting(const std::vector<SeriesColumn>& columns);

    const History& history_;
    const std::atomic<bool>& cancelled_;
    EventIndex events_;
    std::vector<Finding> found_;
};

void HistoryRules::look_at_marks() {
    std::uint64_t retries = 0;
    std::uint64_t lost = 0;
    EventIndex first_retry = kNever;
    EventIndex first_lost = kNever;
    const std::size_t count = history_.counts().marks;
    for (std::size_t i = 0; i < count && !cancelled_; ++i) {
        const Mark mark = history_.mark(i);
        if (mark.kind == MarkKind::retry && retries++ == 0) {
            first_retry = mark.event;
        } else if (mark.kind == MarkKind::lost) {
            if (lost == 0)
                first_lost = mark.event;
            lost += mark.size;
        }
    }
    if (retries > 0)
        add(Kind::retries, Severity::warning, first_retry, {{"count", retries}});
    if (lost > 0)
        add(Kind::lost_events, Severity::warning, first_lost, {{"count", lost}});
}

void HistoryRules::look_at_refusals() {
    const facts::RefusedRequests refused = facts::refused_requests(
        history_, MarkKind::out_of_memory, kFromHistoryShownRefusals, cancelled_);
    std::uint64_t number = 0;
    for (const facts::UnfitRequest& request : refused.first)
        add(Kind::out_of_memory, Severity::problem, request.event,
            {{"number", ++number},
             {"requested_bytes", request.requested},
             {"reserved_bytes", request.space.held},
             {"free_bytes", request.space.free},
             {"gaps", request.space.gaps},
             {"largest_free_bytes", request.space.largest}});
    if (refused.count > number)
        add(Kind::out_of_memory, Severity::problem, refused.last,
            {{"further", refused.count - number}});
}

void HistoryRules::look_at_capacity() {
    const Bytes capacity = history_.capacity();
    if (capacity == 0)
        return;
    const EventIndex full = history_.peak_event(Series::allocated);
    const Bytes allocated = at(full, Series::allocated);
    if (allocated > capacity)
        add(Kind::beyond_memory, Severity::problem, full,
            {{"allocated_bytes", allocated}, {"memory_bytes", capacity}});
    const EventIndex event = history_.peak_event(Series::reserved);
    const Bytes reserved = at(event, Series::reserved);
    if (reserved <= capacity && share_of(reserved, capacity) >= kCloseToFull)
        add(Kind::near_limit, Severity::warning, event,
            {{"reserved_bytes", reserved}, {"memory_bytes", capacity}});
}

// The allocator reserved more from the device, although its free memory would have been enough in
// one piece.
void HistoryRules::look_at_growth() {
    const std::optional<facts::UnfitRequest> request = facts::grown_for(history_, cancelled_);
    if (!request)
        return;
    add(Kind::growth_while_free, Severity::warning, request->event,
        {{"requested_bytes", request->requested},
         {"free_bytes", request->space.free},
         {"gaps", request->space.gaps},
         {"largest_free_bytes", request->space.largest},
         {"reserved_bytes", at(request->event, Series::reserved)}})
        .block = history_.block_at(request->event);
}

// Pieces of memory in which only a small block is in use.
void HistoryRules::look_at_pins() {
    const EventIndex event = history_.peak_event(Series::reserved);
    Bytes pinned = 0;
    std::uint64_t pieces = 0;
    MemorySpan worst;
    for (const MemorySpan& span : memory_spans(history_, event, cancelled_)) {
        if (span.taken == 0 || span.taken > span.size / kSmallInSpan)
            continue;
        pinned += span.free();
        ++pieces;
        if (span.free() > worst.free())
            worst = span;
    }
    if (pieces == 0 || share_of(pinned, at(event, Series::reserved)) < kMuchPinned)
        return;
    const Block block = history_.block(worst.stays);
    std::vector<Figure> figures{{"free_bytes", pinned},
                                {"segments", pieces},
                                {"largest_segment_bytes", worst.size},
                                {"block_bytes", block.size},
                                {"born_event", block.born}};
    if (block.freed != kNever)
        figures.push_back({"ends_event", block.freed});
    Finding& finding = add(Kind::pinned, Severity::warning, event, std::move(figures));
    finding.block = worst.stays;
    finding.stack = history_.site(block.site).stack;
    finding.site = Sites(history_.strings(), history_.stacks()).site(finding.stack);
    if (finding.site.empty())
        finding.site = history_.strings()[history_.site(block.site).tag];
}

void HistoryRules::look_at_rounding() {
    // What waits for a device counts as requested until it is finished.
    const EventIndex event = history_.peak_event(Series::active);
    const Bytes active = at(event, Series::active);
    const Bytes more = active - std::min(active, at(event, Series::requested));
    if (share_of(more, active) >= kMuchRounding)
        add(Kind::rounding, Severity::note, event,
            {{"rounding_bytes", more}, {"active_bytes", active}});
}

void HistoryRules::look_at_curves() {
    const AxisUnit unit = history_.end(AxisUnit::time) > 1 ? AxisUnit::time : AxisUnit::events;
    std::vector<SeriesColumn> columns(kFromHistoryColumns);
    history_.series(unit, 0, history_.end(unit), columns);
    add_idle(columns);
    add_waiting(columns);
}

// The longest stretch in which a large part of reserved memory was always empty.
void HistoryRules::add_idle(const std::vector<SeriesColumn>& columns) {
    const Bytes peak = at(history_.peak_event(Series::reserved), Series::reserved);
    const auto gap = [](const SeriesColumn& column) {
        const Bytes held = column.min[Series::reserved];
        return held - std::min(held, column.max[Series::active]);
    };
    std::size_t best_begin = 0;
    std::size_t best_length = 0;
    std::size_t length = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        length = share_of(gap(columns[i]), peak) >= kLargeGap ? length + 1 : 0;
        if (length > best_length) {
            best_length = length;
            best_begin = i + 1 - length;
        }
    }
    if (peak == 0 || static_cast<double>(best_length) < kLong * static_cast<double>(columns.size()))
        return;
    Bytes least = ~Bytes{0};
    for (std::size_t i = best_begin; i < best_begin + best_length; ++i)
        least = std::min(least, gap(columns[i]));
    // What holds on entering the stretch came from the event before it.
    const EventIndex next = std::min(columns[best_begin].first_event, events_);
    add(Kind::idle, Severity::note, next == 0 ? 0 : next - 1,
        {{"free_bytes", least}, {"parts", best_length}, {"parts_in_all", columns.size()}});
}

void HistoryRules::add_waiting(const std::vector<SeriesColumn>& columns) {
    const auto waiting = [](const SeriesColumn& column) {
        const SeriesValues& values = column.last;
        return values[Series::active] - std::min(values[Series::active], values[Series::allocated]);
    };
    const auto most = std::max_element(
        columns.begin(), columns.end(),
        [&](const SeriesColumn& a, const SeriesColumn& b) { return waiting(a) < waiting(b); });
    const Bytes bytes = waiting(*most);
    const Bytes peak = at(history_.peak_event(Series::active), Series::active);
    if (bytes > 0 && share_of(bytes, peak) >= kMuchWaiting)
        add(Kind::waiting, Severity::note, std::min(most->first_event, events_ - 1),
            {{"pending_free_bytes", bytes},
             {"waiting_bytes", bytes},  // its former name
             {"active_bytes", peak}});
}

}  // namespace

std::vector<Finding> from_history(const History& history, const std::atomic<bool>& cancelled) {
    std::vector<Finding> found = HistoryRules(history, cancelled).all();
    if (cancelled)
        found.clear();
    return found;
}

}  // namespace tidemark::findings
