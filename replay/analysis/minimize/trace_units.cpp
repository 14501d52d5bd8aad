// Which events belong together, and in what order to try to leave them out.
#include "replay/analysis/minimize/trace_units.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tidemark {
namespace {

constexpr std::uint32_t kNoUnit = 0xffffffffU;

class UnitFinder {
  public:
    explicit UnitFinder(const TraceInfo& info) : by_slot_(info.slot_count, kNoUnit) {}

    void add(TraceEvent event);

    TraceUnits take() { return std::move(found_); }

  private:
    // What is open under that number on that device, by the kind that opened it.
    using Key = std::tuple<EventKind, std::uint16_t, std::uint32_t>;

    std::uint32_t unit_of(const TraceEvent& event);
    std::uint32_t close(EventKind opener, const TraceEvent& event);

    std::uint32_t new_unit() { return found_.count++; }

    TraceUnits found_;
    std::vector<std::uint32_t> by_slot_;
    std::map<Key, std::vector<std::uint32_t>> open_;  // nested ones, innermost last
};

// The unit of what `event` ends; one of its own if that never began.
std::uint32_t UnitFinder::close(EventKind opener, const TraceEvent& event) {
    const auto open = open_.find({opener, event.device, event.aux});
    if (open == open_.end())
        return new_unit();
    const std::uint32_t unit = open->second.back();
    open->second.pop_back();
    if (open->second.empty())
        open_.erase(open);
    return unit;
}

std::uint32_t UnitFinder::unit_of(const TraceEvent& event) {
    switch (event.kind) {
        case EventKind::allocate:
            if (event.slot >= by_slot_.size())
                return kNoUnit;
            return by_slot_[event.slot] = new_unit();
        case EventKind::free:
        case EventKind::retire:
        case EventKind::finish:
        case EventKind::use:
        case EventKind::record_use:
        case EventKind::move:
            return event.slot < by_slot_.size() ? by_slot_[event.slot] : kNoUnit;
        case EventKind::range_begin:
        case EventKind::pool_begin:
            open_[{event.kind, event.device, event.aux}].push_back(new_unit());
            return found_.count - 1;
        case EventKind::range_end:
            return close(EventKind::range_begin, event);
        case EventKind::pool_end:
            return close(EventKind::pool_begin, event);
        case EventKind::record_event:
            open_[{event.kind, event.device, event.aux}] = {new_unit()};
            return found_.count - 1;
        case EventKind::wait_event: {
            const auto recorded = open_.find({EventKind::record_event, event.device, event.aux});
            return recorded == open_.end() ? new_unit() : recorded->second.back();
        }
        case EventKind::reserve:
        case EventKind::release: {
            auto& task = open_[{EventKind::reserve, event.device, event.aux}];
            if (task.empty())
                task.push_back(new_unit());
            return task.back();
        }
        default:
            return new_unit();
    }
}

void UnitFinder::add(TraceEvent event) {
    if (is_truth(event.kind))
        return;
    if (event.kind == EventKind::trim) {
        if ((event.flags & kTrimsNothing) != 0)
            return;
        event.flags = 0;
        event.aux = 0;
    }
    const std::uint32_t unit = unit_of(event);
    if (unit == kNoUnit)
        return;
    if (event.kind != EventKind::out_of_memory)  // there it is what the device had free
        event.address = 0;
    event.flags = static_cast<std::uint8_t>(event.flags & ~kPreamble);
    found_.events.push_back(event);
    found_.unit.push_back(unit);
}

// Whether the unit lasts until the end; how large it is; when it began.
struct UnitRank {
    bool lasts = false;
    Bytes size = 0;
    std::size_t begin = 0;
    std::uint32_t unit = 0;

    auto key() const { return std::tuple(lasts, size, begin); }
};

}  // namespace

Result<TraceUnits> trace_units(const Trace& trace) {
    UnitFinder finder(trace.info());
    const auto cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return finder.take();
        for (std::size_t i = 0; i < batch.count; ++i)
            finder.add(batch[i]);
    }
}

std::vector<std::uint32_t> removal_order(const std::vector<TraceEvent>& events,
                                         const std::vector<std::uint32_t>& unit) {
    std::unordered_map<std::uint32_t, std::size_t> rank_of;
    std::vector<UnitRank> ranks;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const auto [found, is_new] = rank_of.try_emplace(unit[i], ranks.size());
        if (is_new)
            ranks.push_back({.begin = i, .unit = unit[i]});
        UnitRank& rank = ranks[found->second];
        switch (events[i].kind) {
            case EventKind::allocate:
                rank.lasts = true;
                rank.size = events[i].size;
                break;
            case EventKind::free:
            case EventKind::retire:
                rank.lasts = false;
                break;
            default:
                break;
        }
    }
    std::ranges::sort(ranks, {}, &UnitRank::key);
    std::vector<std::uint32_t> order;
    for (const UnitRank& rank : ranks)
        order.push_back(rank.unit);
    return order;
}

}  // namespace tidemark
