// A table of settings, and a sentence about units.
#include "replay/report/sweep/sweep_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

// "vpmm on 80.0 GiB": the machine is named where settings differ in it.
std::string setting_text(const SweepReport& report, const SweepSetting& setting) {
    const SweepSetting& first = report.settings.front();
    const auto differs = [&](auto member) {
        return std::ranges::any_of(report.settings, [&](const SweepSetting& other) {
            return other.*member != first.*member;
        });
    };
    std::string text = printable(setting.policy);
    if (differs(&SweepSetting::memory))
        text += setting.memory == 0 ? " on the recorded card"
                                    : fmt::format(" on {}", format_bytes(setting.memory));
    if (differs(&SweepSetting::limit))
        text += !setting.limit ? " under the recorded limit"
                : setting.limit.value() == 0
                    ? " without a limit"
                    : fmt::format(" under {}", format_bytes(*setting.limit));
    if (differs(&SweepSetting::profile))
        text += fmt::format(", {}", printable(setting.profile));
    return text;
}

Json score_of(const SweepReport& report, const SettingScore& score) {
    const SweepSetting& setting = report.settings[score.setting];
    return {{"spec", setting.policy},
            {"profile", setting.profile},
            {"memory_bytes", report::or_null(setting.memory)},
            {"limit_bytes", report::or_null(setting.limit)},
            {"traces", score.traces},
            {"overhead_ratio", score.overhead_ratio},
            {"driver_ns", score.driver_time},
            {"out_of_memory", score.out_of_memory},
            {"failed", score.failed}};
}

}  // namespace

std::string sweep_text(const SweepReport& report, std::size_t top) {
    Table table({{"setting", Align::left},
                 {"traces"},
                 {"reserved / requested"},
                 {"driver time"},
                 {"out of memory"},
                 {"failed"}});
    const std::size_t shown = top == 0 ? report.scores.size() : std::min(top, report.scores.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const SettingScore& score = report.scores[i];
        table.add({{setting_text(report, report.settings[score.setting]), i == 0},
                   {format_count(score.traces)},
                   {fmt::format("{:.3f}", score.overhead_ratio)},
                   {format_duration(score.driver_time)},
                   {format_count(score.out_of_memory)},
                   {format_count(score.failed)}});
    }
    std::string text = report.scores.empty() ? "" : table.ruled(Emphasis::none) + "\n";
    if (shown < report.scores.size())
        text += fmt::format("The best {} of {} settings; --top 0 shows all.\n", shown,
                            format_count(report.scores.size()));
    text += fmt::format("{} in {}: {} computed now, {} there before, {} missing.\n",
                        format_counted(report.planned, "unit"), printable(report.folder),
                        format_count(report.computed),
                        format_count(report.units.size() - report.computed),
                        format_count(report.missing));
    if (report.interrupted)
        text += "note: interrupted: the same command goes on where this ended\n";
    return text;
}

std::string sweep_json(const SweepReport& report, const Provenance& provenance) {
    Json scores = Json::array();
    for (const SettingScore& score : report.scores)
        scores.push_back(score_of(report, score));
    Json units = report::list_of(report.units, [](const SweptUnit& unit) -> Json {
        return {{"unit", unit.name},
                {"trace", unit.trace},
                {"spec", unit.result.policy},
                {"peak_reserved_bytes", unit.result.peak_reserved},
                {"overhead_ratio", unit.result.figures.overhead_ratio},
                {"driver_ns", unit.result.figures.driver_time},
                {"out_of_memory", unit.result.figures.out_of_memory},
                {"error", report::or_null(unit.result.error)}};
    });
    return report::text_of({{"folder", report.folder},
                            {"settings", std::move(scores)},
                            {"units", std::move(units)},
                            {"planned", report.planned},
                            {"computed", report.computed},
                            {"missing", report.missing},
                            {"interrupted", report.interrupted},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
