// All events in memory; captures change places whole.
#include "replay/analysis/advise/graph_order.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "traces/model/event_columns.h"

namespace tidemark {
namespace {

constexpr std::uint64_t kMostReorderedEvents = 2'000'000;
constexpr std::size_t kBatchEvents = 4096;
constexpr std::size_t kNoCapture = ~std::size_t{0};

// Events [begin, end), its scope's first and last among them.
struct Capture {
    std::size_t begin = 0;
    std::size_t end = 0;
    Bytes peak = 0;
};

class ReorderedTrace final : public Trace {
  public:
    ReorderedTrace(const Trace& trace, std::vector<TraceEvent> events)
        : trace_(trace), events_(std::move(events)) {}

    const TraceInfo& info() const override { return trace_.info(); }

    std::unique_ptr<TraceCursor> cursor() const override {
        return std::make_unique<Cursor>(events_);
    }

    // Of no file: it is not the recorded one.
    std::uint64_t hash() const override { return ~trace_.hash(); }

  private:
    class Cursor final : public TraceCursor {
      public:
        explicit Cursor(std::span<const TraceEvent> events) : left_(events) {}

        Result<EventBatch> next() override {
            const auto part = left_.first(std::min(kBatchEvents, left_.size()));
            left_ = left_.subspan(part.size());
            columns_.assign(part);
            return columns_.batch();
        }

      private:
        std::span<const TraceEvent> left_;
        EventColumns columns_;
    };

    const Trace& trace_;
    std::vector<TraceEvent> events_;
};

Result<std::vector<TraceEvent>> events_of(const Trace& trace) {
    std::vector<TraceEvent> events;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return events;
        for (std::size_t i = 0; i < batch.count; ++i)
            events.push_back(batch[i]);
    }
}

// The outermost scopes of pools, those that are closed.
std::vector<Capture> find_captures(std::span<const TraceEvent> events) {
    std::vector<Capture> captures;
    std::size_t depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].kind == EventKind::pool_begin && depth++ == 0)
            begin = i;
        if (events[i].kind == EventKind::pool_end && depth > 0 && --depth == 0)
            captures.push_back({begin, i + 1, 0});
    }
    return captures;
}

// Finds their peaks; false if one has blocks that are touched between it and the last one's end.
bool are_apart(std::span<const TraceEvent> events, std::size_t slots, std::span<Capture> captures) {
    std::vector<std::size_t> owner(slots, kNoCapture);
    std::vector<Bytes> sizes(slots, 0);
    std::size_t next = 0;  // the current capture, or the next one
    Bytes live = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        while (next < captures.size() && i >= captures[next].end) {
            ++next;
            live = 0;
        }
        const TraceEvent& event = events[i];
        if (event.kind == EventKind::retire)
            return false;
        if (event.slot >= slots || next == captures.size())
            continue;
        const bool inside = i >= captures[next].begin;
        if (event.kind == EventKind::allocate) {
            owner[event.slot] = inside ? next : kNoCapture;
            sizes[event.slot] = event.size;
            live += inside ? event.size : 0;
            if (inside)
                captures[next].peak = std::max(captures[next].peak, live);
            continue;
        }
        const bool own = inside && owner[event.slot] == next;
        const bool of_another = !own && owner[event.slot] != kNoCapture;
        // One from outside that a capture frees would be free sooner, or later.
        if (of_another || (inside && !own && event.kind == EventKind::free))
            return false;
        if (own && event.kind == EventKind::free)
            live -= std::min(live, sizes[event.slot]);
    }
    return true;
}

std::vector<TraceEvent> reordered(std::span<const TraceEvent> events,
                                  std::span<const Capture> captures,
                                  std::span<const std::size_t> order) {
    std::vector<TraceEvent> result;
    result.reserve(events.size());
    std::size_t at = 0;
    const auto take = [&](std::size_t begin, std::size_t end) {
        result.insert(result.end(), events.begin() + static_cast<std::ptrdiff_t>(begin),
                      events.begin() + static_cast<std::ptrdiff_t>(end));
    };
    for (std::size_t i = 0; i < captures.size(); ++i) {
        take(at, captures[i].begin);
        take(captures[order[i]].begin, captures[order[i]].end);
        at = captures[i].end;
    }
    take(at, events.size());
    for (std::size_t i = 0; i < events.size(); ++i)
        result[i].time = events[i].time;
    return result;
}

}  // namespace

Result<std::unique_ptr<Trace>> largest_graph_first(const Trace& trace) {
    const TraceInfo& info = trace.info();
    if (info.event_count > kMostReorderedEvents || info.devices.size() > 1 || info.pools.size() < 2)
        return nullptr;
    TM_ASSIGN(const std::vector<TraceEvent> events, events_of(trace));
    std::vector<Capture> captures = find_captures(events);
    if (captures.size() < 2 || !are_apart(events, info.slot_count, captures))
        return nullptr;
    std::vector<std::size_t> order(captures.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t i) { return captures[i].peak; });
    if (std::ranges::is_sorted(order))
        return nullptr;
    return std::make_unique<ReorderedTrace>(trace, reordered(events, captures, order));
}

}  // namespace tidemark
