// Chooses and words.
#include "viz/model/navigation/compared_runs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "replay/report/page/change_text.h"
#include "viz/model/navigation/comparison.h"

namespace tidemark::viz {
namespace {

// What a better run has less of, the most important first.
std::pair<std::uint64_t, Bytes> cost_of(const ViewedRun& run) {
    const EventIndex peak = run.history->peak_event(Series::reserved);
    const Bytes reserved = run.history->values(peak)[Series::reserved];
    if (run.run)
        return {run.run->measurement("out_of_memory").whole, reserved};
    std::uint64_t refused = 0;
    for (std::size_t i = 0; i < run.history->counts().marks; ++i)
        refused += run.history->mark(i).kind == MarkKind::out_of_memory ? 1U : 0U;
    return {refused, reserved};
}

bool is_comparable(const ViewedRun& run) {
    return run.history && run.history->counts().events > 0;
}

void bring_to(std::vector<std::size_t>& order, std::size_t to, std::size_t run) {
    const auto found = std::ranges::find(order, run);
    const auto target = order.begin() + static_cast<std::ptrdiff_t>(to);
    if (found != order.end() && found > target)
        std::rotate(target, found, found + 1);
}

}  // namespace

std::size_t best_run(const Session& session, const std::vector<std::size_t>& runs) {
    TM_CHECK(!runs.empty());
    return *std::ranges::min_element(
        runs, {}, [&session](std::size_t run) { return cost_of(session.runs[run]); });
}

std::vector<std::size_t> comparison_order(const Session& session, const Selection& selection) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < session.runs.size(); ++i)
        if (is_comparable(session.runs[i]))
            order.push_back(i);
    if (order.size() < 2)
        return order;
    const auto is_there = [&order](std::size_t run) {
        return std::ranges::find(order, run) != order.end();
    };
    const std::size_t best = best_run(session, order);
    if (selection.compared_first && is_there(*selection.compared_first))
        bring_to(order, 0, *selection.compared_first);
    const std::vector<std::size_t> others(order.begin() + 1, order.end());
    std::size_t second = best_run(session, others);
    const std::size_t wanted = selection.compared_second.value_or(selection.run);
    if (wanted != order.front() && is_there(wanted))
        second = wanted;
    bring_to(order, 1, second);
    bring_to(order, 2, best);
    return order;
}

std::string comparison_verdict(const Session& session, const std::vector<std::size_t>& order) {
    TM_CHECK(order.size() >= 2);
    const ViewedRun& before = session.runs[order[0]];
    const ViewedRun& now = session.runs[order[1]];
    const bool are_replays = before.run && now.run;
    const std::vector<Measurement> old_figures =
        are_replays ? before.run->measurements : history_figures(*before.history);
    const std::vector<Measurement> figures =
        are_replays ? now.run->measurements : history_figures(*now.history);
    std::string text =
        report::comparison_sentence({now.label, figures}, {before.label, old_figures});
    if (order.size() == 2)
        return text + ".";
    const std::size_t best = best_run(session, order);
    if (best == order[1] || best == order[0])
        return fmt::format("{}; {} is the lowest of {}.", text,
                           best == order[1] ? now.label : before.label, order.size());
    return fmt::format("{}; the lowest of {} is {}.", text, order.size(), session.runs[best].label);
}

}  // namespace tidemark::viz
