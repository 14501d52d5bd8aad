// How sizes grow, then a row for each setting.
#include "replay/report/scale/scale_report.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
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
    "grow as far as kernels round them", "grow as nothing tells"};

std::string growth_text(const ScaleModel& model, const ScaleFactors& growth) {
    if (!model.laws.has_length)
        return fmt::format("x{:g}", growth.batch);
    std::string text;
    if (growth.batch != 1)
        text = fmt::format("batch x{:g}", growth.batch);
    if (growth.length != 1)
        text += fmt::format("{}length x{:g}", text.empty() ? "" : ", ", growth.length);
    return text.empty() ? "as recorded" : text;
}

std::string peaks_text(const ScaleRow& row) {
    const std::string peak = format_bytes(row.peak), least = format_bytes(row.least),
                      most = format_bytes(row.most);
    return least == most ? peak : fmt::format("{} ({} to {})", peak, least, most);
}

std::string growth_that_fits(const ScaleRow& row) {
    if (row.fits_perhaps == 0)
        return "none";
    const std::string surely = fmt::format("x{:.2f}", row.fits_surely),
                      perhaps = fmt::format("x{:.2f}", row.fits_perhaps);
    return surely == perhaps ? surely : fmt::format("{} to {}", surely, perhaps);
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
            {"peak_reserved_bytes", row.peak},
            {"peak_reserved_least_bytes", row.least},
            {"peak_reserved_most_bytes", row.most},
            {"largest_growth_surely", or_null(row.fits_surely, 0.0)},
            {"largest_growth_perhaps", or_null(row.fits_perhaps, 0.0)}};
}

}  // namespace

std::string scale_text(const std::string& name, const ScaleModel& model,
                       const ScaleReport& report) {
    const bool card = report.question.memory > 0;
    std::vector<TableColumn> columns{
        {"setting", Align::left}, {"as it was"}, {growth_text(model, report.question.growth)}};
    if (card)
        columns.push_back({fmt::format("largest {} on {}",
                                       report.question.along == Axis::length ? "length"
                                       : model.laws.has_length               ? "batch"
                                                                             : "step",
                                       format_bytes(report.question.memory))});
    Table table(columns);
    for (const ScaleRow& row : report.rows) {
        std::vector<TableCell> cells{{row.policy + (row.recorded ? " (as recorded)" : "")},
                                     {format_bytes(row.before)},
                                     {peaks_text(row)}};
        if (card)
            cells.push_back({growth_that_fits(row)});
        table.add(std::move(cells));
    }
    std::string text = fmt::format("{}: {} steps\n\n{}\nPeaks of reserved memory\n{}",
                                   printable(name), model.requests.steps.size(),
                                   laws_text(model.laws), table.ruled(Emphasis::none));
    for (const std::string& note : report.notes)
        text += fmt::format("note: {}\n", note);
    return text;
}

std::string scale_json(const std::string& name, const ScaleModel& model, const ScaleReport& report,
                       const Provenance& provenance) {
    Json laws = Json::array();
    for (std::size_t kind = 0; kind < kLaws.size(); ++kind)
        laws.push_back({{"law", kLaws.at(kind)},
                        {"requests", model.laws.counts.at(kind)},
                        {"bytes", model.laws.bytes.at(kind)}});
    return report::text_of({{"trace", name},
                            {"steps", model.requests.steps.size()},
                            {"step_name", model.requests.name},
                            {"length_known", model.laws.has_length},
                            {"batch_growth", report.question.growth.batch},
                            {"length_growth", report.question.growth.length},
                            {"memory_bytes", or_null(report.question.memory)},
                            {"laws", laws},
                            {"rows", list_of(report.rows, scaled_row_of)},
                            {"notes", report.notes},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
