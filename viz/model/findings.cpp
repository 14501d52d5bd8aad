// Findings of a history: each rule looks at marks, at curves of a thousand columns, or at the
// memory of one instant. How each is worded is beside its rule.
#include "viz/model/findings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/block_story.h"
#include "viz/model/memory_spans.h"
#include "viz/model/site_words.h"

namespace tidemark::viz {
namespace {

using Weight = Finding::Weight;

constexpr std::size_t kShownRefusals = 5;
constexpr std::size_t kColumns = 1024;   // of the curves that rules look at
constexpr double kCloseToFull = 0.95;    // of the memory there is
constexpr double kLargeGap = 0.2;        // of reserved memory
constexpr double kLong = 0.1;            // of the run
constexpr double kMuchRounding = 0.1;    // of allocated memory
constexpr double kMuchWaiting = 0.1;     // of allocated memory
constexpr double kMuchPinned = 0.05;     // of reserved memory
constexpr std::size_t kSmallInSpan = 8;  // a block that holds up so many times its size

double share(Bytes part, Bytes whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", 100 * share);
}

class HistoryRules {
  public:
    HistoryRules(const History& history, const Cancelled& cancelled)
        : history_(history),
          cancelled_(cancelled),
          events_(static_cast<EventIndex>(history.counts().events)),
          words_(history) {}

    std::vector<Finding> all() {
        if (events_ == 0)
            return {};
        look_at_marks();
        look_at_capacity();
        look_at_growth();
        look_at_pins();
        look_at_rounding();
        look_at_curves();
        return std::move(found_);
    }

  private:
    void add(Weight weight, std::string title, std::string detail, EventIndex event,
             BlockIndex block = kNoBlock) {
        if (!cancelled_)
            found_.push_back({weight, std::move(title), std::move(detail), event, block});
    }

    void look_at_marks();
    void tell_refusal(const Mark& mark);
    void look_at_capacity();
    void look_at_growth();
    void look_at_pins();
    void look_at_rounding();
    void look_at_curves();
    void tell_cached(const std::vector<SeriesColumn>& columns);
    void tell_waiting(const std::vector<SeriesColumn>& columns);

    FreeSpace space_after(EventIndex event) const {
        return free_space(memory_spans(history_, event, cancelled_));
    }

    const History& history_;
    const Cancelled& cancelled_;
    EventIndex events_;
    SiteWords words_;
    std::vector<Finding> found_;
};

void HistoryRules::look_at_marks() {
    std::size_t refusals = 0;
    std::size_t retries = 0;
    std::uint64_t lost = 0;
    Mark first_retry;
    Mark first_lost;
    EventIndex last_refusal = kNever;
    const std::size_t count = history_.counts().marks;
    for (std::size_t i = 0; i < count && !cancelled_; ++i) {
        const Mark mark = history_.mark(i);
        if (mark.kind == MarkKind::out_of_memory) {
            if (++refusals <= kShownRefusals)
                tell_refusal(mark);
            last_refusal = mark.event;
        } else if (mark.kind == MarkKind::retry && retries++ == 0) {
            first_retry = mark;
        } else if (mark.kind == MarkKind::lost) {
            if (lost == 0)
                first_lost = mark;
            lost += mark.size;
        }
    }
    if (refusals > kShownRefusals)
        add(Weight::problem,
            fmt::format("{} more requests were refused", format_count(refusals - kShownRefusals)),
            "The last of them is where this leads to.", last_refusal);
    if (retries > 0)
        add(Weight::warning,
            fmt::format("The caches were emptied {} to make room",
                        retries == 1 ? "once" : format_count(retries) + " times"),
            "Memory was short: the allocator gave back what it had cached and asked the device "
            "again. Each time the program waits for the device.",
            first_retry.event);
    if (lost > 0)
        add(Weight::warning, fmt::format("{} events are missing", format_count(lost)),
            "The program was faster than they could be taken over. What lived around there may be "
            "shown as living longer than it did, and totals may be wrong by it.",
            first_lost.event);
}

void HistoryRules::tell_refusal(const Mark& mark) {
    const EventIndex before = mark.event == 0 ? 0 : mark.event - 1;
    const FreeSpace space = space_after(before);
    std::string detail = fmt::format(
        "At {}: {} held from the device, {} of it free in {} gaps, the largest {}.",
        moment_text(history_, mark.event), format_bytes(space.held), format_bytes(space.free),
        format_count(space.gaps), format_bytes(space.largest));
    std::string title = fmt::format("Out of memory: {} refused", format_bytes(mark.size));
    if (space.free >= mark.size && space.largest < mark.size) {
        title += ", though more was free";
        detail +=
            "\nThe free memory is in pieces: with less fragmentation the request would have "
            "been granted. Look at the address map there, and try expandable segments or a "
            "policy that splits less.";
    }
    add(Weight::problem, std::move(title), std::move(detail), mark.event);
}

void HistoryRules::look_at_capacity() {
    const Bytes capacity = history_.capacity();
    if (capacity == 0)
        return;
    const EventIndex full = history_.peak_event(Series::allocated);
    const Bytes allocated = history_.values(full)[Series::allocated];
    if (allocated > capacity)
        add(Weight::problem, "More is allocated than the devices have",
            fmt::format("{} at {}, of {} that there is. The recording misses frees, or the "
                        "capacity is wrong: take no figure of this run for granted.",
                        format_bytes(allocated), moment_text(history_, full),
                        format_bytes(capacity)),
            full);
    const EventIndex event = history_.peak_event(Series::reserved);
    const Bytes reserved = history_.values(event)[Series::reserved];
    if (reserved <= capacity && share(reserved, capacity) >= kCloseToFull)
        add(Weight::warning,
            fmt::format("{} of the device memory is reserved", percent(share(reserved, capacity))),
            fmt::format("{} of {} at {}: a slightly larger run is out of memory.",
                        format_bytes(reserved), format_bytes(capacity),
                        moment_text(history_, event)),
            event);
}

// The allocator took more from the device, although what it had would have been enough in one
// piece.
void HistoryRules::look_at_growth() {
    const EventIndex event = history_.peak_event(Series::reserved);
    const BlockIndex index = history_.block_at(event);
    if (event == 0 || index == kNoBlock || history_.block(index).born != event)
        return;
    const Bytes asked = history_.block(index).size;
    const FreeSpace space = space_after(event - 1);
    if (space.free < asked || space.largest >= asked)
        return;
    add(Weight::warning,
        fmt::format("The peak grew by fragmentation: {} lay free", format_bytes(space.free)),
        fmt::format("{} were asked for at {}. {} were free, but in {} gaps of at most {}: so "
                    "reserved memory grew to its peak of {}.",
                    format_bytes(asked), moment_text(history_, event), format_bytes(space.free),
                    format_count(space.gaps), format_bytes(space.largest),
                    format_bytes(history_.values(event)[Series::reserved])),
        event, index);
}

// Pieces of memory of which a small block is all that is used.
void HistoryRules::look_at_pins() {
    const EventIndex event = history_.peak_event(Series::reserved);
    const Bytes reserved = history_.values(event)[Series::reserved];
    Bytes pinned = 0;
    std::uint64_t pieces = 0;
    MemorySpan worst;
    for (const MemorySpan& span : memory_spans(history_, event, cancelled_)) {
        if (span.blocks == 0 || span.taken > span.size / kSmallInSpan)
            continue;
        pinned += span.free();
        ++pieces;
        if (span.free() > worst.free())
            worst = span;
    }
    if (pieces == 0 || share(pinned, reserved) < kMuchPinned)
        return;
    const Block block = history_.block(worst.stays);
    const std::string name = words_.name(history_.site(block.site));
    add(Weight::warning,
        fmt::format("{} at the peak are held up by small blocks", format_bytes(pinned)),
        fmt::format("{} piece{} of memory could go back, were it not for a few bytes in each. The "
                    "largest, {}, is kept by {} of {}, alive since {}{}.",
                    format_count(pieces), pieces == 1 ? "" : "s", format_bytes(worst.size),
                    format_bytes(block.size), name, moment_text(history_, block.born),
                    block.freed == kNever ? " to the end" : ""),
        event, worst.stays);
}

void HistoryRules::look_at_rounding() {
    // What waits for a device counts as requested until it is finished.
    const EventIndex event = history_.peak_event(Series::active);
    const SeriesValues values = history_.values(event);
    const Bytes active = values[Series::active];
    const Bytes more = active - std::min(active, values[Series::requested]);
    if (share(more, active) < kMuchRounding)
        return;
    add(Weight::note, fmt::format("Rounding takes {} at the peak", format_bytes(more)),
        fmt::format("{} of what is in use at {} was never asked for: blocks are rounded up.",
                    percent(share(more, active)), moment_text(history_, event)),
        event);
}

void HistoryRules::look_at_curves() {
    const AxisUnit unit = history_.end(AxisUnit::time) > 1 ? AxisUnit::time : AxisUnit::events;
    std::vector<SeriesColumn> columns(kColumns);
    history_.series(unit, 0, history_.end(unit), columns);
    tell_cached(columns);
    tell_waiting(columns);
}

// The longest stretch in which a large part of reserved memory held nothing, never less.
void HistoryRules::tell_cached(const std::vector<SeriesColumn>& columns) {
    const Bytes peak = history_.values(history_.peak_event(Series::reserved))[Series::reserved];
    const auto gap = [](const SeriesColumn& column) {
        const Bytes held = column.min[Series::reserved];
        return held - std::min(held, column.max[Series::active]);
    };
    std::size_t best_begin = 0;
    std::size_t best_length = 0;
    std::size_t length = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        length = peak > 0 && share(gap(columns[i]), peak) >= kLargeGap ? length + 1 : 0;
        if (length > best_length) {
            best_length = length;
            best_begin = i + 1 - length;
        }
    }
    if (static_cast<double>(best_length) < kLong * static_cast<double>(columns.size()))
        return;
    Bytes least = ~Bytes{0};
    for (std::size_t i = best_begin; i < best_begin + best_length; ++i)
        least = std::min(least, gap(columns[i]));
    // What holds on entering the stretch came from the event before it.
    const EventIndex next = std::min(columns[best_begin].first_event, events_);
    const EventIndex event = next == 0 ? 0 : next - 1;
    add(Weight::note,
        fmt::format(
            "{} of reserved memory lie idle for {} of the run", format_bytes(least),
            percent(static_cast<double>(best_length) / static_cast<double>(columns.size()))),
        fmt::format("From {} on. It is cached for later requests of this program; others cannot "
                    "have it. If later requests are of other sizes, it is lost to this one too.",
                    moment_text(history_, event)),
        event);
}

void HistoryRules::tell_waiting(const std::vector<SeriesColumn>& columns) {
    const auto waiting = [](const SeriesColumn& column) {
        const SeriesValues& values = column.last;
        return values[Series::active] - std::min(values[Series::active], values[Series::allocated]);
    };
    const auto most = std::max_element(
        columns.begin(), columns.end(),
        [&](const SeriesColumn& a, const SeriesColumn& b) { return waiting(a) < waiting(b); });
    const Bytes bytes = waiting(*most);
    const Bytes peak = history_.values(history_.peak_event(Series::active))[Series::active];
    if (bytes == 0 || share(bytes, peak) < kMuchWaiting)
        return;
    const EventIndex event = std::min(most->first_event, events_ - 1);
    add(Weight::note, fmt::format("Up to {} wait for other streams", format_bytes(bytes)),
        fmt::format("About {}: the program has let go of it, but work on other streams may still "
                    "use it. Fewer uses across streams, or earlier joins, free it sooner.",
                    moment_text(history_, event)),
        event);
}

}  // namespace

std::vector<Finding> findings_of_history(const History& history, const Cancelled& cancelled) {
    return joined_findings(HistoryRules(history, cancelled).all(), {});
}

std::vector<Finding> joined_findings(std::vector<Finding> first, std::vector<Finding> second) {
    first.insert(first.end(), std::make_move_iterator(second.begin()),
                 std::make_move_iterator(second.end()));
    std::stable_sort(first.begin(), first.end(), [](const Finding& a, const Finding& b) {
        if (a.weight != b.weight)
            return a.weight > b.weight;
        return (a.event != kNever) > (b.event != kNever);
    });
    return first;
}

}  // namespace tidemark::viz
