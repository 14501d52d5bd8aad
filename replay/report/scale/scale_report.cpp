// How sizes grow, then a row for each setting.
#include "replay/report/scale/scale_report.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/largest_steps_text.h"
#include "replay/report/forms/step_growth_text.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;
using report::list_of;
using report::or_null;

constexpr std::array<std::string_view, 5> kLaws{"constant", "multiple", "shifted", "rounded",
                                                "unknown"};

constexpr std::array<std::string_view, 5> kMeanings{
    "do not grow", "grow in proportion or with a power", "grow by a constant more",
    "grow about in proportion, rounded by kernels", "grow in an unknown way"};

std::string factor_text(const ScaleModel& model, const ScaleFactors& growth) {
    if (!model.laws.has_length)
        return fmt::format("x{:g}", growth.batch);
    std::string text;
    if (growth.batch != 1)
        text = fmt::format("batch x{:g}", growth.batch);
    if (growth.length != 1)
        text += fmt::format("{}length x{:g}", text.empty() ? "" : ", ", growth.length);
    return text;
}

// What the steps work on; "" = not recorded.
std::string shape_text(const SizeLaws& laws) {
    const BatchShape& shape = laws.reference_shape;
    if (shape.batch == 0)
        return {};
    const std::string length =
        shape.length > 0 ? fmt::format(", length {}", shape.length) : std::string();
    return fmt::format(", {}batch {}{}", laws.has_sizes ? "the largest of " : "of ", shape.batch,
                       length);
}

// Steps that do something other than the largest one does.
std::vector<std::size_t> unlike_steps(const SizeLaws& laws, std::size_t count) {
    std::vector<std::size_t> found;
    for (std::size_t i = 1; i < count; ++i)
        if (!laws.steps[i].alike)
            found.push_back(i);
    return found;
}

std::string unlike_text(const std::vector<std::size_t>& steps) {
    constexpr std::size_t kMostNamed = 8;
    if (steps.empty())
        return {};
    std::string names;
    for (std::size_t i = 0; i < std::min(steps.size(), kMostNamed); ++i)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", steps[i]);
    return fmt::format(
        "{} {}{}: of a different kind from the largest; requests that they share with it grow the "
        "same way, in their own order.\n",
        steps.size() == 1 ? "Step" : "Steps", names, steps.size() > kMostNamed ? ", ..." : "");
}

// The title of the whole run's column; "" = there is none.
std::string run_text(const ScaleModel& model, const ScaleQuestion& question) {
    const std::string steps =
        question.run.steps > 0 ? fmt::format("{} steps", format_count(question.run.steps)) : "";
    if (!question.run.grows())
        return steps;
    return fmt::format("{}, {}", steps.empty() ? "every step" : steps,
                       factor_text(model, question.run.growth));
}

std::string peaks_text(const ScaledPeak& peak) {
    const std::string likely = format_bytes(peak.likely), least = format_bytes(peak.least),
                      most = format_bytes(peak.most);
    return least == most ? likely : fmt::format("{} ({} to {})", likely, least, most);
}

std::string unknown_text(const std::vector<UnknownSite>& sites) {
    if (sites.empty())
        return {};
    Table table({{"it is unknown how these grow", Align::left}, {"count"}, {"bytes"}});
    for (const UnknownSite& site : sites)
        table.row(site.site.empty() ? "(no stack recorded)" : one_line(site.site),
                  format_count(site.requests), format_bytes(site.bytes));
    return table.ruled(Emphasis::none) + "\n";
}

// How good the laws are, checked with the recording's own largest step.
std::string held_back_text(const ScaleReport& report) {
    if (report.rows.empty() || report.rows.front().held_back.recorded == 0)
        return {};
    const ScaleRow& row = report.rows.front();
    return fmt::format(
        "Check: predicted from the other steps, the largest recorded step needs {} with {}; it "
        "needed {}.\n",
        format_bytes(row.held_back.predicted), row.policy, format_bytes(row.held_back.recorded));
}

// Leaks, which keep growing with more steps.
std::string growths_text(const ScaleReport& report) {
    std::string text;
    for (const StepGrowth& growth : report.growths)
        if (growth.kind == StepGrowthKind::leak)
            text += fmt::format("keeps growing: {}\n",
                                one_line(step_growth_text(growth, report.by_site)));
    return text;
}

std::string laws_text(const SizeLaws& laws) {
    Table table({{"requests", Align::left}, {"count"}, {"bytes"}});
    for (std::size_t kind = 0; kind < kLaws.size(); ++kind)
        if (laws.counts.at(kind) > 0)
            table.row(std::string(kMeanings.at(kind)), format_count(laws.counts.at(kind)),
                      format_bytes(laws.bytes.at(kind)));
    return table.ruled(Emphasis::none);
}

Json scaled_row_of(const ScaleRow& row) {
    return {{"policy", row.policy},
            {"recorded", row.recorded},
            {"before_peak_reserved_bytes", row.before},
            {"peak_reserved_bytes", row.peak.likely},
            {"peak_reserved_least_bytes", row.peak.least},
            {"peak_reserved_most_bytes", row.peak.most},
            {"one_more_peak_reserved_bytes", row.one_more.likely},
            {"one_more_peak_reserved_least_bytes", row.one_more.least},
            {"one_more_peak_reserved_most_bytes", row.one_more.most},
            {"held_back_predicted_bytes", or_null(row.held_back.predicted)},
            {"held_back_bytes", or_null(row.held_back.recorded)},
            {"largest_growth_surely", or_null(row.fits.surely, 0.0)},
            {"largest_growth_perhaps", or_null(row.fits.perhaps, 0.0)}};
}

Json growth_of(const StepGrowth& growth) {
    constexpr std::array<std::string_view, 3> kKinds{"leak", "drift", "cache"};
    return {{"kind", kKinds.at(static_cast<std::size_t>(growth.kind))},
            {"site", or_null(growth.site)},
            {"bytes_per_step", growth.bytes_per_step},
            {"first_bytes", growth.first_bytes},
            {"last_bytes", growth.last_bytes}};
}

Json unknown_of(const UnknownSite& site) {
    return {{"site", or_null(site.site)}, {"requests", site.requests}, {"bytes", site.bytes}};
}

}  // namespace

std::string scale_text(const std::vector<std::string>& names, const ScaleModel& model,
                       const ScaleReport& report) {
    const ScaleQuestion& question = report.question;
    const std::string run = run_text(model, question);
    const BatchShape& shape = model.laws.reference_shape;
    std::vector<TableColumn> columns{{"setting", Align::left}, {"unchanged"}};
    if (!run.empty())
        columns.push_back({run});
    if (question.run.grows())
        columns.push_back(
            {fmt::format("one more step, {}", factor_text(model, question.run.growth))});
    if (question.memory > 0)
        columns.push_back({fmt::format("largest {} on {}",
                                       question.along == Axis::length ? "length"
                                       : model.laws.has_length        ? "batch"
                                                                      : "step",
                                       format_bytes(question.memory))});
    Table table(columns);
    for (const ScaleRow& row : report.rows) {
        std::vector<TableCell> cells{{row.policy + (row.recorded ? " (as recorded)" : "")},
                                     {format_bytes(row.before)}};
        if (!run.empty())
            cells.push_back({peaks_text(row.peak)});
        if (question.run.grows())
            cells.push_back({peaks_text(row.one_more)});
        if (question.memory > 0)
            cells.push_back(
                {growth_range_text(row.fits.surely, row.fits.perhaps,
                                   question.along == Axis::length ? shape.length : shape.batch)});
        table.add(std::move(cells));
    }
    std::string text = fmt::format("{}: {} steps{}\n\n", printable(names.front()),
                                   model.requests.steps.size(), shape_text(model.laws));
    if (model.laws.has_sizes || question.run.grows() || question.memory > 0)
        text += laws_text(model.laws) + "\n" + unknown_text(report.unknown);
    if (names.size() > 1)
        text +=
            fmt::format("Each figure is that of the rank, of {}, that needs most\n", names.size());
    text += "Peaks of reserved memory\n" + table.ruled(Emphasis::none);
    text += held_back_text(report) + growths_text(report) +
            unlike_text(unlike_steps(model.laws, model.requests.steps.size()));
    for (const std::string& note : report.notes)
        text += fmt::format("note: {}\n", note);
    return text;
}

std::string scale_json(const std::vector<std::string>& names, const ScaleModel& model,
                       const ScaleReport& report, const Provenance& provenance) {
    Json laws = Json::array();
    for (std::size_t kind = 0; kind < kLaws.size(); ++kind)
        laws.push_back({{"law", kLaws.at(kind)},
                        {"requests", model.laws.counts.at(kind)},
                        {"bytes", model.laws.bytes.at(kind)}});
    return report::text_of({{"trace", names.front()},
                            {"traces", names},
                            {"steps", model.requests.steps.size()},
                            {"step_name", model.requests.name},
                            {"unlike_steps", unlike_steps(model.laws, model.requests.steps.size())},
                            {"sizes_known", model.laws.has_sizes},
                            {"length_known", model.laws.has_length},
                            {"recorded_batch", or_null(model.laws.reference_shape.batch)},
                            {"recorded_length", or_null(model.laws.reference_shape.length)},
                            {"guessed_share", model.laws.guessed},
                            {"batch_growth", report.question.run.growth.batch},
                            {"length_growth", report.question.run.growth.length},
                            {"steps_in_all", or_null(report.question.run.steps)},
                            {"one_more", report.question.run.one_more},
                            {"memory_bytes", or_null(report.question.memory)},
                            {"laws", laws},
                            {"unknown", list_of(report.unknown, unknown_of)},
                            {"growths", list_of(report.growths, growth_of)},
                            {"rows", list_of(report.rows, scaled_row_of)},
                            {"notes", report.notes},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
