// The data of the page. Times go as text where they might exceed what a JavaScript number holds
// exactly, 2^53: else as numbers.
#include "replay/report/page/html_data.h"

#include <algorithm>

#include "replay/report/forms/wording.h"
#include "replay/report/page/html_curves.h"

namespace tidemark::report {
namespace {

std::string_view name_of(MarkKind kind) {
    switch (kind) {
        case MarkKind::out_of_memory:
            return "out of memory";
        case MarkKind::recorded_out_of_memory:
            return "out of memory when recorded";
        case MarkKind::retry:
            return "retry: cached memory released";
        case MarkKind::trim:
            return "empty_cache by the program";
        case MarkKind::point:
            return "mark";
        case MarkKind::lost:
            return "events lost";
    }
    return "";
}

// The program's own last, so that refusals are never the ones left out.
Json marks_of(const History& history, std::size_t most) {
    std::vector<Mark> marks;
    for (std::size_t i = 0; i < history.counts().marks; ++i)
        marks.push_back(history.mark(i));
    std::ranges::stable_sort(marks, [](const Mark& a, const Mark& b) { return a.kind < b.kind; });
    marks.resize(std::min(marks.size(), most));
    std::ranges::stable_sort(marks, [](const Mark& a, const Mark& b) { return a.event < b.event; });
    return list_of(marks, [&](const Mark& mark) -> Json {
        return {mark.event, history.time(mark.event), name_of(mark.kind), mark.size,
                one_line(history.strings()[mark.name])};
    });
}

// The longest, in order of begin.
Json annotations_of(const History& history, std::size_t most) {
    const auto end = static_cast<EventIndex>(history.counts().events);
    std::vector<Annotation> all;
    for (std::size_t i = 0; i < history.counts().annotations; ++i) {
        all.push_back(history.annotation(i));
        all.back().end = std::min(all.back().end, end - 1);
    }
    std::ranges::stable_sort(all, [](const Annotation& a, const Annotation& b) {
        return a.end - a.begin > b.end - b.begin;
    });
    all.resize(std::min(all.size(), most));
    std::ranges::stable_sort(
        all, [](const Annotation& a, const Annotation& b) { return a.begin < b.begin; });
    return list_of(all, [&](const Annotation& each) -> Json {
        return {each.begin,
                each.end,
                history.time(each.begin),
                history.time(each.end),
                each.depth,
                one_line(history.strings()[each.name])};
    });
}

Json run_data(const ReportedRun& run, const std::vector<EventIndex>& begins,
              const PageDetail& detail, const Cancelling& cancelled) {
    const History& history = *run.recorded.history;
    Json object{{"trace", run.trace},
                {"label", run.label},
                {"policy", run.recorded.run.policy_name},
                {"capacity", history.capacity()},
                {"limit", history.limit()}};
    object["curves"] = curves_json(history, begins);
    object["marks"] = marks_of(history, detail.marks);
    object["map"] = map_json(history, detail.map, cancelled);
    if (history.counts().events > 0) {
        const EventIndex peak = history.peak_event(Series::reserved);
        object["peak"] = {{"event", peak}, {"time", history.time(peak)}};
    }
    return object;
}

}  // namespace

Json page_data(const ReportInput& input, const PageDetail& detail) {
    Json traces = Json::array();
    Json runs = Json::array();
    std::vector<std::vector<EventIndex>> begins(input.traces.size());
    for (std::size_t i = 0; i < input.traces.size(); ++i) {
        const auto first = std::ranges::find_if(
            input.runs, [i](const ReportedRun& run) { return run.trace == i; });
        Json trace{{"name", input.traces[i].name}};
        if (first != input.runs.end()) {
            const History& history = *first->recorded.history;
            begins[i] = bucket_begins(history, detail.buckets);
            trace.update(buckets_json(history, begins[i]));
            trace["annotations"] = annotations_of(history, detail.annotations);
        }
        traces.push_back(std::move(trace));
    }
    for (const ReportedRun& run : input.runs)
        runs.push_back(run_data(run, begins[run.trace], detail, input.cancelled));
    return {{"traces", std::move(traces)}, {"runs", std::move(runs)}};
}

}  // namespace tidemark::report
