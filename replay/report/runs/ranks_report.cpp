// One row for each rank, where they diverge, and which one needs most.
#include "replay/report/runs/ranks_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/json.h"

namespace tidemark {
namespace {

using report::Json;

std::string known_bytes(Bytes bytes) {
    return bytes == 0 ? "not known" : format_bytes(bytes);
}

std::string others_text(const RankReport& report, const RankDivergence& where) {
    return where.others == 1 ? fmt::format("{} {}", printable(report.rows[where.other].name),
                                           format_bytes(where.usual_bytes))
                             : fmt::format("the other {} {}", format_count(where.others),
                                           format_bytes(where.usual_bytes));
}

std::string limit_text(const RankReport& report) {
    const RankRow& largest = report.rows[report.largest()];
    const bool reserves = largest.peak_reserved > 0;
    const auto peak = [reserves](const RankRow& row) {
        return reserves ? row.peak_reserved : row.peak_requested;
    };
    const bool all = std::ranges::all_of(
        report.rows, [&](const RankRow& row) { return peak(row) == peak(largest); });
    const std::string bytes = format_bytes(peak(largest));
    if (all)
        return fmt::format("each rank {} {} at its peak", reserves ? "reserves" : "requests",
                           bytes);
    return fmt::format("{} sets the limit: it {} {} at its peak", printable(largest.name),
                       reserves ? "reserves" : "requests", bytes);
}

// "the same sizes in the same order"; "as far as they go" if ranks differ in length.
std::string alike_text(const RankReport& report) {
    const bool as_long = std::ranges::all_of(report.rows, [&](const RankRow& row) {
        return row.allocations == report.rows.front().allocations;
    });
    return as_long ? "; all ranks request the same sizes in the same order"
                   : "; all ranks request the same sizes in the same order, as far as they go";
}

// Behind its peak: " (12)".
std::string peak_step_text(const RankRow& row) {
    return row.peak_step == 0 ? " (-)" : fmt::format(" ({})", format_count(row.peak_step));
}

// By how much one rank grows and another one doesn't, or since when it requests more. Nothing if it
// has done so from the first step on.
std::string trend_text(const RankReport& report, const RankSpread& spread) {
    const std::string most = printable(report.rows[spread.last_most].name);
    const std::string least = printable(report.rows[spread.last_least].name);
    if (spread.growth_per_step != 0)
        return fmt::format("; compared with {}, {} grows by {} with each step since step {}", least,
                           most, format_bytes(spread.growth_per_step),
                           format_count(spread.grows_from()));
    if (spread.since > 1)
        return fmt::format("; {} has requested more than {} since step {}", most, least,
                           format_count(spread.since));
    return "";
}

std::string spread_text(const RankReport& report) {
    if (!report.spread || report.spread->most_bytes == report.spread->least_bytes)
        return "";
    const RankSpread& spread = *report.spread;
    const std::string more =
        spread.more.empty()
            ? std::string()
            : fmt::format(" ({}: {} and {})", one_line(spread.more),
                          format_bytes(spread.most_of_it), format_bytes(spread.least_of_it));
    return fmt::format(
        "; of the {} steps that all ranks have, they differ most in step {}: {} requests {} "
        "at its peak, {} {}{}{}",
        format_count(spread.steps), format_count(spread.step),
        printable(report.rows[spread.most].name), format_bytes(spread.most_bytes),
        printable(report.rows[spread.least].name), format_bytes(spread.least_bytes), more,
        trend_text(report, spread));
}

std::string diverging_text(const RankReport& report, const RankDivergence& where) {
    const std::string step =
        where.step == 0 ? "" : fmt::format(", in step {}", format_count(where.step));
    return fmt::format("; ranks diverge at allocation {}{} (event {}{}): {} requests {}, {}",
                       format_count(where.index + 1), step, format_count(where.event),
                       report::position_text(where.position),
                       printable(report.rows[where.rank].name), format_bytes(where.bytes),
                       others_text(report, where));
}

// "rank0.tml", "rank0.tml and rank4.tml", "rank0.tml and 3 others".
std::string rank_group_text(const RankReport& report, const std::vector<std::size_t>& group) {
    const std::string first = printable(report.rows[group.front()].name);
    if (group.size() == 1)
        return first;
    if (group.size() == 2)
        return fmt::format("{} and {}", first, printable(report.rows[group.back()].name));
    return fmt::format("{} and {} others", first, format_count(group.size() - 1));
}

// Where several ranks share a role, such as a stage of a pipeline, ranks diverge by design. Of two
// groups, the divergence names both already.
std::string rank_groups_text(const RankReport& report) {
    constexpr std::size_t kShownMost = 4;
    const auto& groups = report.groups;
    if (groups.size() <= 2 ||
        std::ranges::all_of(groups, [](const auto& group) { return group.size() == 1; }))
        return "";
    std::string text = fmt::format("; by the sizes they request, the ranks form {} groups",
                                   format_count(groups.size()));
    const std::size_t shown = std::min(groups.size(), kShownMost);
    for (std::size_t i = 0; i < shown; ++i)
        text += (i == 0 ? ": " : "; ") + rank_group_text(report, groups[i]);
    if (shown < groups.size())
        text += fmt::format("; and {} more", format_count(groups.size() - shown));
    return text;
}

}  // namespace

std::string ranks_sentence(const RankReport& report) {
    std::string text = limit_text(report);
    text += spread_text(report);
    if (!report.divergence)
        return text + alike_text(report);
    return text + diverging_text(report, *report.divergence) + rank_groups_text(report);
}

Table ranks_table(const RankReport& report) {
    const bool has_steps = report.spread.has_value();
    Table table({{"rank", Align::left},
                 {"allocations"},
                 {has_steps ? "requested, peak (in step)" : "requested, peak"},
                 {"reserved, peak"}});
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
        const RankRow& row = report.rows[i];
        table.add({{printable(row.name), i == report.largest()},
                   {format_count(row.allocations)},
                   {format_bytes(row.peak_requested) + (has_steps ? peak_step_text(row) : "")},
                   {known_bytes(row.peak_reserved)}});
    }
    return table;
}

std::string ranks_text(const RankReport& report, Emphasis emphasis) {
    return ranks_table(report).ruled(emphasis) + "\n" + ranks_sentence(report) + "\n";
}

namespace report {

Json ranks_of(const std::optional<RankReport>& ranks) {
    if (!ranks)
        return nullptr;
    Json rows = list_of(ranks->rows, [&](const RankRow& row) -> Json {
        return {{"trace", row.name},
                {"allocations", row.allocations},
                {"peak_requested_bytes", row.peak_requested},
                {"peak_step", or_null(row.peak_step)},
                {"peak_reserved_bytes", or_null(row.peak_reserved)}};
    });
    Json diverge;
    if (const auto& where = ranks->divergence) {
        const Json position = position_json(where->position);
        diverge = {{"trace", ranks->rows[where->rank].name},
                   {"from", ranks->rows[where->other].name},
                   {"others", where->others},
                   {"allocation", where->index},
                   {"event", where->event},
                   {"step", or_null(where->step)},
                   {"bytes", where->bytes},
                   {"from_bytes", where->usual_bytes},
                   {"inside", position["inside"]},
                   {"after", position["after"]}};
    }
    Json apart;
    if (const auto& spread = ranks->spread) {
        const auto in_trend = [&](std::size_t rank) -> Json {
            return spread->since == 0 ? Json() : Json(ranks->rows[rank].name);
        };
        apart = {{"steps", spread->steps},
                 {"step", spread->step},
                 {"most", ranks->rows[spread->most].name},
                 {"most_bytes", spread->most_bytes},
                 {"least", ranks->rows[spread->least].name},
                 {"least_bytes", spread->least_bytes},
                 {"more", or_null(spread->more)},
                 {"most_of_it_bytes", spread->most_of_it},
                 {"least_of_it_bytes", spread->least_of_it},
                 {"last_most", in_trend(spread->last_most)},
                 {"last_least", in_trend(spread->last_least)},
                 {"since_step", or_null(spread->since)},
                 {"growth_per_step_bytes", or_null(spread->growth_per_step)}};
    }
    Json groups = list_of(ranks->groups, [&](const std::vector<std::size_t>& group) {
        return list_of(group, [&](std::size_t rank) { return ranks->rows[rank].name; });
    });
    return {{"rows", std::move(rows)},
            {"sets_limit", ranks->rows[ranks->largest()].name},
            {"spread", std::move(apart)},
            {"diverge", std::move(diverge)},
            {"groups", std::move(groups)}};
}

}  // namespace report

std::string traces_text(std::span<const SummarizedTrace> traces,
                        const std::optional<RankReport>& ranks, std::span<const NamedJoin> joins) {
    const bool has_steps = ranks && ranks->spread;
    Table table({{"trace", Align::left},
                 {"events"},
                 {"duration"},
                 {"allocations"},
                 {has_steps ? "requested, peak (in step)" : "requested, peak"},
                 {"reserved when recorded"},
                 {"out of memory"}});
    for (std::size_t i = 0; i < traces.size(); ++i) {
        const SummarizedTrace& each = traces[i];
        const TraceSummary& summary = each.summary;
        const Nanoseconds duration = each.trace->info().duration;
        table.row(printable(each.name), format_count(summary.events),
                  duration > 0 ? format_duration(duration) : "no times",
                  format_count(summary.allocations),
                  format_bytes(summary.requested.value) +
                      (has_steps ? peak_step_text(ranks->rows[i]) : ""),
                  summary.has_recorded_reserved ? format_bytes(summary.recorded_reserved.value)
                                                : "not known",
                  format_count(summary.out_of_memory));
    }
    std::string text = table.ruled(Emphasis::none);
    if (ranks)
        text += "\n" + ranks_sentence(*ranks) + "\n";
    for (const NamedJoin& each : joins)
        text += "\n" + join_text(each);
    return text;
}

std::string traces_json(std::span<const SummarizedTrace> traces,
                        const std::optional<RankReport>& ranks, std::span<const NamedJoin> joins,
                        const Provenance& provenance) {
    Json list = report::list_of(traces, [&](const SummarizedTrace& each) -> Json {
        return report::trace_of(each.name, *each.trace, each.summary);
    });
    return report::text_of({{"traces", std::move(list)},
                            {"ranks", report::ranks_of(ranks)},
                            {"joins", report::list_of(joins, report::join_of)},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
