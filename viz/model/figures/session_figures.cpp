// Uses the same functions as the views, without drawing.
#include "viz/model/figures/session_figures.h"

#include <algorithm>
#include <string_view>

#include "replay/findings/find.h"
#include "replay/report/findings/finding_json.h"
#include "viz/model/blocks/peak_answer.h"
#include "viz/model/ranks/rank_divergence.h"
#include "viz/model/ranks/rank_table.h"
#include "viz/model/timeline/step_index.h"
#include "viz/model/timeline/timeline_columns.h"

namespace tidemark::viz {
namespace {

using report::Json;
using report::or_null;

Json peaks_of(const History& history) {
    Json peaks = Json::object();
    for (const auto& [name, series] :
         {std::pair("reserved", Series::reserved), std::pair("active", Series::active),
          std::pair("allocated", Series::allocated), std::pair("requested", Series::requested)}) {
        const EventIndex event = history.peak_event(series);
        peaks[std::string("peak_") + name + "_bytes"] = history.values(event)[series];
        peaks[std::string("peak_") + name + "_event"] = event;
    }
    return peaks;
}

Json memory_of(const PeakSummary& summary) {
    const facts::MemoryParts& parts = summary.parts;
    return {{"event", summary.peak},
            {"reserved_bytes", parts.reserved},
            {"in_use_bytes", parts.in_use},
            {"rounding_bytes", parts.rounding},
            {"pending_free_bytes", parts.waiting},
            {"waiting_bytes", parts.waiting},  // its former name
            {"fragmentation_bytes", parts.fragmentation},
            {"cached_bytes", parts.cached}};
}

// What the timeline's legend shows at the peak, by its own sweep over the run.
Json legend_of(const std::shared_ptr<const History>& history, EventIndex event) {
    const Cancelled never = false;
    const auto curve = FragmentationCurve::create(history);
    if (!curve || !(*curve)->extend(never).value_or(false))
        return nullptr;
    const SeriesValues values = history->values(event);
    const IdleMemory idle = idle_of(values, curve->get(), event);
    const Bytes pending_free =
        values[Series::active] - std::min(values[Series::active], values[Series::allocated]);
    return {{"event", event},
            {"reserved_bytes", values[Series::reserved]},
            {"rounding_bytes", or_null(rounding_of(values))},
            {"pending_free_bytes", pending_free},
            {"waiting_bytes", pending_free},  // its former name
            {"fragmentation_bytes", or_null(idle.fragmentation)},
            {"cached_bytes", idle.cached}};
}

Json unfit(const facts::UnfitRequest& request) {
    return {{"event", request.event},
            {"device", request.device},
            {"requested_bytes", request.requested},
            {"reserved_bytes", request.space.held},
            {"free_bytes", request.space.free},
            {"gaps", request.space.gaps},
            {"largest_free_bytes", request.space.largest}};
}

Json holders_of(const PeakSummary& summary) {
    return report::list_of(summary.holders, [](const PeakHolder& holder) -> Json {
        return {{"name", holder.name}, {"bytes", holder.bytes}, {"blocks", holder.blocks}};
    });
}

std::uint64_t marks_of(const History& history, MarkKind kind) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < history.counts().marks; ++i)
        count += history.mark(i).kind == kind ? 1U : 0U;
    return count;
}

Json figures_of(const ViewedRun& run) {
    Json figures{{"label", run.label}, {"trace", run.path}, {"policy", run.policy}};
    figures["gpu"] = run.gpus > 1 ? Json(run.gpu) : Json();
    if (run.history == nullptr || run.history->counts().events == 0)
        return figures;
    const History& history = *run.history;
    const Cancelled never = false;
    const PeakSummary summary = peak_summary(history, never);
    figures["events"] = history.counts().events;
    figures["headline"] = peak_answer(history, summary).headline;
    figures.update(peaks_of(history));
    figures["memory"] = memory_of(summary);
    figures["legend"] = legend_of(run.history, summary.peak);
    figures["holders_are_sizes"] = summary.holders_are_sizes;
    figures["holders"] = holders_of(summary);
    figures["out_of_memory"] = marks_of(history, MarkKind::out_of_memory);
    figures["recorded_out_of_memory"] = marks_of(history, MarkKind::recorded_out_of_memory);
    figures["first_out_of_memory"] =
        summary.refused.first.empty() ? Json() : unfit(summary.refused.first.front());
    figures["grown_for"] = summary.grown_for ? unfit(*summary.grown_for) : Json();
    figures["retries"] = marks_of(history, MarkKind::retry);
    StepIndex steps;
    steps.follow(run.history, ~std::size_t{0} >> 1U);
    figures["steps"] = steps.size();
    figures["findings"] = report::findings_json(findings::from_history(history, never));
    return figures;
}

// As `compare --json` has them.
Json ranks_of(const Session& session) {
    RankTable table;
    if (!table.look(session, {}) || !table.largest())
        return nullptr;
    std::vector<RankHistory> ranks;
    std::vector<std::size_t> runs;
    for (const RankFigures& row : table.rows()) {
        if (!row.is_known)
            continue;
        ranks.push_back({session.runs[row.run].history, session.runs[row.run].preamble});
        runs.push_back(row.run);
    }
    const Cancelled never = false;
    const RankDivergences found =
        find_divergences(ranks, 0, rank_threshold(table.median_peak()), never);
    Json diverge;
    if (const auto first = found.first_to_leave()) {
        const RequestDivergence& where = *found.requests[*first];
        diverge = {{"trace", session.runs[runs[*first]].path},
                   {"allocation", where.index},
                   {"event", where.event},
                   {"bytes", where.size},
                   {"from_bytes", where.usual}};
    }
    return {{"sets_limit", session.runs[table.rows()[*table.largest()].run].path},
            {"diverge", std::move(diverge)}};
}

}  // namespace

std::string session_figures(const Session& session) {
    const Json figures{{"format", "tidemark-figures"},
                       {"version", 1},
                       {"runs", report::list_of(session.runs, figures_of)},
                       {"ranks", ranks_of(session)}};
    return report::text_of(figures);
}

}  // namespace tidemark::viz
