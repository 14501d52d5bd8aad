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

// "lru on h200-node with 60%": the machine is named where settings differ in it.
std::string tier_setting_text(const SweepReport& report, const TierSetting& setting) {
    const TierSetting& first = report.tiers.front();
    const auto any = [&](auto differs) { return std::ranges::any_of(report.tiers, differs); };
    std::string text = printable(setting.scenario.spill);
    if (any([&](const TierSetting& each) { return each.machine_hash != first.machine_hash; }))
        text += fmt::format(" on {}", printable(setting.machine->name));
    if (any([&](const TierSetting& each) { return each.gpu_memory != first.gpu_memory; }))
        text += fmt::format(
            " with {}", setting.gpu_memory.empty() ? "the machine's memory" : setting.gpu_memory);
    return text;
}

// "vpmm on 80.0 GiB": limits are named where settings differ in them.
std::string setting_text(const SweepReport& report, std::size_t number) {
    if (!report.tiers.empty())
        return tier_setting_text(report, report.tiers[number]);
    const SweepSetting& setting = report.settings[number];
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

Json tier_score_of(const TierSetting& setting, const SettingScore& score) {
    return {{"spec", setting.scenario.spill},
            {"machine", setting.machine->name},
            {"machine_hash", report::hash_text(setting.machine_hash)},
            {"gpu_memory", report::or_null(setting.gpu_memory)},
            {"traces", score.traces},
            {"slowdown", score.ratio},
            {"stall_ns", score.time},
            {"out_of_memory", score.out_of_memory},
            {"failed", score.failed}};
}

Json score_of(const SweepReport& report, const SettingScore& score) {
    if (!report.tiers.empty())
        return tier_score_of(report.tiers[score.setting], score);
    const SweepSetting& setting = report.settings[score.setting];
    return {{"spec", setting.policy},
            {"profile", setting.profile},
            {"memory_bytes", report::or_null(setting.memory)},
            {"limit_bytes", report::or_null(setting.limit)},
            {"traces", score.traces},
            {"overhead_ratio", score.ratio},
            {"driver_ns", score.time},
            {"out_of_memory", score.out_of_memory},
            {"failed", score.failed}};
}

}  // namespace

std::string sweep_text(const SweepReport& report, std::size_t top) {
    Table table({{"setting", Align::left},
                 {"traces"},
                 {report.tiers.empty() ? "reserved / requested" : "slowdown"},
                 {report.tiers.empty() ? "driver time" : "stalled"},
                 {"out of memory"},
                 {"failed"}});
    const std::size_t shown = top == 0 ? report.scores.size() : std::min(top, report.scores.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const SettingScore& score = report.scores[i];
        table.add({{setting_text(report, score.setting), i == 0},
                   {format_count(score.traces)},
                   {fmt::format("{:.3f}", score.ratio)},
                   {format_duration(score.time)},
                   {format_count(score.out_of_memory)},
                   {format_count(score.failed)}});
    }
    std::string text = report.scores.empty() ? "" : table.ruled(Emphasis::none) + "\n";
    if (shown < report.scores.size())
        text += fmt::format("The best {} of {} settings; --top 0 shows all.\n", shown,
                            format_count(report.scores.size()));
    text += fmt::format("{} in {}: {} computed now, {} already there, {} missing.\n",
                        format_counted(report.planned, "unit"), printable(report.folder),
                        format_count(report.computed),
                        format_count(report.units.size() - report.computed),
                        format_count(report.missing));
    if (report.interrupted)
        text += "note: interrupted: run the same command again to continue\n";
    return text;
}

std::string sweep_json(const SweepReport& report, const Provenance& provenance) {
    Json scores = Json::array();
    for (const SettingScore& score : report.scores)
        scores.push_back(score_of(report, score));
    const bool tiers = !report.tiers.empty();
    Json units = report::list_of(report.units, [tiers](const SweptUnit& unit) -> Json {
        return {{"unit", unit.name},
                {"trace", unit.trace},
                {"spec", unit.result.policy},
                {tiers ? "moved_bytes" : "peak_reserved_bytes", unit.result.peak_reserved},
                {tiers ? "slowdown" : "overhead_ratio", unit.result.figures.ratio},
                {tiers ? "stall_ns" : "driver_ns", unit.result.figures.time},
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
