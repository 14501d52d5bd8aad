// One pass that keeps the open ranges of every device.
#include "replay/analysis/trace/event_position.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "replay/analysis/trace/sites.h"

namespace tidemark {
namespace {

struct OpenRange {
    std::uint32_t name = 0;  // a string's index
    std::uint64_t number = 0;
};

// The ranges of one device.
class Ranges {
  public:
    void begin(std::uint32_t name) { open_.push_back({name, ++begun_[name]}); }

    // Ranges of several threads may overlap: the innermost of that name ends.
    void end(std::uint32_t name) {
        const auto found =
            std::find_if(open_.rbegin(), open_.rend(),
                         [name](const OpenRange& range) { return range.name == name; });
        if (found == open_.rend())
            return;
        last_ = {*found};
        open_.erase(std::next(found).base());
    }

    const std::vector<OpenRange>& open() const { return open_; }

    const std::vector<OpenRange>& last() const { return last_; }

  private:
    std::vector<OpenRange> open_;
    std::vector<OpenRange> last_;  // none or one
    std::map<std::uint32_t, std::uint64_t> begun_;
};

std::vector<NamedRange> named_ranges(const std::vector<OpenRange>& ranges, const TraceInfo& info) {
    std::vector<NamedRange> named;
    for (const OpenRange& range : ranges)
        named.push_back({std::string(info.strings[range.name]), range.number});
    return named;
}

EventPosition describe(const TraceEvent& event, const Ranges& ranges, const TraceInfo& info) {
    EventPosition position;
    position.inside = named_ranges(ranges.open(), info);
    if (position.inside.empty())
        position.after = named_ranges(ranges.last(), info);
    if (event.stack < info.stacks.size()) {
        Sites sites(info);
        position.operation = sites.operation(event.stack);
        for (const Frame& frame : sites.own_frames(event.stack))
            position.stack.push_back(fmt::format("{} ({}:{})", info.strings[frame.name],
                                                 info.strings[frame.file], frame.line));
    }
    if (event.tag < info.strings.size())
        position.tag = info.strings[event.tag];
    if (info.gpus() > 1)
        position.gpu = event.device;
    return position;
}

class EventSearch {
  public:
    EventSearch(const TraceInfo& info, std::span<const std::uint64_t> events)
        : info_(info), events_(events), order_(events.size()), devices_(1) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::ranges::stable_sort(order_, {}, [events](std::size_t i) { return events[i]; });
        found_.positions.resize(events.size());
    }

    void look(const TraceEvent& event, std::uint64_t index) {
        if (event.device >= devices_.size())
            devices_.resize(std::size_t{event.device} + 1);
        Ranges& ranges = devices_[event.device];
        if (event.kind == EventKind::range_begin && event.aux < info_.strings.size())
            ranges.begin(event.aux);
        for (; next_ < order_.size() && events_[order_[next_]] == index; ++next_)
            found_.positions[order_[next_]] = describe(event, ranges, info_);
        if (event.kind == EventKind::range_end)
            ranges.end(event.aux);
        found_.recorded_refusals += event.kind == EventKind::out_of_memory ? 1 : 0;
        found_.has_retired = found_.has_retired || event.kind == EventKind::retire;
    }

    // Whether event `index` says nothing about positions and isn't one of those in question.
    bool is_plain(EventKind kind, std::uint64_t index) const {
        return (kind == EventKind::allocate || kind == EventKind::free) &&
               (next_ >= order_.size() || events_[order_[next_]] != index);
    }

    EventPositions take() { return std::move(found_); }

  private:
    const TraceInfo& info_;
    std::span<const std::uint64_t> events_;
    std::vector<std::size_t> order_;  // of events_, ascending
    std::size_t next_ = 0;
    std::vector<Ranges> devices_;
    EventPositions found_;
};

}  // namespace

Result<EventPositions> find_event_positions(const Trace& trace,
                                            std::span<const std::uint64_t> events) {
    EventSearch search(trace.info(), events);
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    std::uint64_t index = 0;
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return search.take();
        for (std::size_t i = 0; i < batch.count; ++i, ++index)
            if (!search.is_plain(batch.kind[i], index))
                search.look(batch[i], index);
    }
}

}  // namespace tidemark
