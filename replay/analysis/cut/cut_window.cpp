// Which events a window holds.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/cut/cut.h"
#include "replay/facts/step_names.h"

namespace tidemark {
namespace {

// Calls visit(event, index) for each event until it returns false.
template <class Visit>
Result<void> for_each_event(const Trace& trace, Visit visit) {
    const auto cursor = trace.cursor();
    for (std::uint64_t index = 0;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            return {};
        for (std::size_t i = 0; i < batch.count; ++i, ++index)
            if (!visit(batch[i], index))
                return {};
    }
}

constexpr std::uint64_t kNoStep = ~std::uint64_t{0};

// Numbers of steps, as ranges name them: those of steps, else of batches, else of epochs.
class StepNumbers {
  public:
    explicit StepNumbers(const TraceInfo& info) {
        std::optional<facts::StepName::Kind> least;
        for (std::uint32_t i = 0; i < info.strings.size(); ++i)
            if (const auto name = facts::parse_step_name(info.strings[i]); name && name->number)
                least = std::min(least.value_or(name->kind), name->kind);
        kind_ = least.value_or(facts::StepName::Kind::step);
    }

    // The step of a range that begins now, or kNoStep.
    std::uint64_t number(std::string_view text) {
        const auto name = facts::parse_step_name(text);
        if (!name || name->kind != kind_)
            return kNoStep;
        return name->number ? *name->number : ++count_[name->family];
    }

  private:
    facts::StepName::Kind kind_ = facts::StepName::Kind::step;
    std::map<std::string, std::uint64_t> count_;
};

tl::unexpected<Error> empty_window(const Trace& trace) {
    return fail(
        ErrorCode::bad_option, "this window has no events", "cut",
        fmt::format("the trace has {} events and lasts {}", format_count(trace.info().event_count),
                    format_duration(trace.info().duration)));
}

}  // namespace

Result<CutEvents> find_events(const Trace& trace, const CutWindow& window) {
    CutEvents found{trace.info().event_count, trace.info().event_count};
    const auto reached = [](const CutPoint& point, const TraceEvent& event, std::uint64_t index) {
        return (point.event && index >= *point.event) || (point.time && event.time >= *point.time);
    };
    bool begun = false;
    const bool from_start = !window.from.event && !window.from.time;
    TM_TRY(for_each_event(trace, [&](const TraceEvent& event, std::uint64_t index) {
        if (!begun && (from_start || reached(window.from, event, index))) {
            begun = true;
            found.begin = index;
        }
        if (!reached(window.to, event, index))
            return true;
        found.end = index;
        return false;
    }));
    if (found.begin >= found.end)
        return empty_window(trace);
    return found;
}

Result<CutEvents> find_steps(const Trace& trace, std::uint64_t first, std::uint64_t last) {
    CutEvents found{trace.info().event_count, 0};
    StepNumbers numbers(trace.info());
    std::vector<std::pair<std::uint32_t, std::uint64_t>> open;  // name, number
    TM_TRY(for_each_event(trace, [&](const TraceEvent& event, std::uint64_t index) {
        if (event.kind == EventKind::range_begin) {
            const std::uint64_t number = numbers.number(trace.info().strings[event.aux]);
            open.emplace_back(event.aux, number);
            if (number >= first && number <= last)
                found.begin = std::min(found.begin, index);
        } else if (event.kind == EventKind::range_end) {
            const auto range = std::find_if(open.rbegin(), open.rend(), [&](const auto& each) {
                return each.first == event.aux;
            });
            if (range == open.rend())
                return true;
            if (range->second >= first && range->second <= last)
                found.end = index + 1;
            open.erase(std::next(range).base());
        }
        return true;
    }));
    if (found.begin >= found.end)
        return fail(ErrorCode::bad_option,
                    first == last ? fmt::format("there is no step {}", first)
                                  : fmt::format("there are no steps {} to {}", first, last),
                    "--step", "`tidemark info` lists the ranges that the trace names");
    return found;
}

Result<CutEvents> find_range(const Trace& trace, const std::string& name) {
    CutEvents found{trace.info().event_count, 0};
    TM_TRY(for_each_event(trace, [&](const TraceEvent& event, std::uint64_t index) {
        const bool marks =
            event.kind == EventKind::range_begin || event.kind == EventKind::range_end;
        if (!marks || trace.info().strings[event.aux] != name)
            return true;
        if (event.kind == EventKind::range_begin)
            found.begin = std::min(found.begin, index);
        else if (found.begin < index)
            found.end = index + 1;
        return found.end == 0;
    }));
    if (found.begin >= found.end)
        return fail(ErrorCode::bad_option, fmt::format("no range is called '{}'", name), "--range",
                    "`tidemark info` lists the ranges that the trace names");
    return found;
}

}  // namespace tidemark
