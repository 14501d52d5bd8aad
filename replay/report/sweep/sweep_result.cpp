// Lines to units, units to settings.
#include "replay/report/sweep/sweep_result.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/compare/pareto.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/sweep/unit_line.h"

namespace tidemark {
namespace {

using report::Json;

using Values = std::vector<std::pair<std::string, std::string>>;

// A number of bytes as "24GiB", exact and as in options, so that the values of an axis are distinct
// and can be sorted.
std::string exact_size(Bytes bytes) {
    for (const auto& [unit, size] : {std::pair("GiB", 1_GiB), {"MiB", 1_MiB}, {"KiB", 1_KiB}})
        if (bytes != 0 && bytes % size == 0)
            return fmt::format("{}{}", bytes / size, unit);
    return fmt::format("{}", bytes);
}

std::string text_of_value(const Json& value) {
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What distinguishes a unit's setting from others. Only units that were replayed have all of it.
Values values_of(const Json& unit) {
    Values values;
    const auto add = [&](const char* key, const char* name) {
        const auto found = unit.find(key);
        if (found != unit.end())
            values.emplace_back(name, found->is_number_unsigned() ? exact_size(found->get<Bytes>())
                                                                  : text_of_value(*found));
    };
    add("policy", "policy");
    if (const auto options = unit.find("options"); options != unit.end() && options->is_object())
        for (const auto& [name, value] : options->items())
            values.emplace_back(name, text_of_value(value));
    add("machine", "machine");
    add("machine_hash", "machine_hash");
    // A share of the program's peak is a different size on each trace.
    const auto share = unit.find("gpu_memory_share");
    const bool is_share = share != unit.end() && share->is_number();
    add(is_share ? "gpu_memory_share" : "gpu_memory_bytes", "gpu_memory");
    add("memory_bytes", "memory");
    add("limit_bytes", "limit");
    add("profile_hash", "profile");
    add("scale", "scale");
    return values;
}

class Reading {
  public:
    explicit Reading(const std::string& name) : name_(name) {}

    Result<void> read(std::string_view line) {
        ++row_;
        const std::string where = fmt::format("{}:{}", name_, row_);
        const Json unit = Json::parse(line, nullptr, false);
        const auto found = unit.is_object() ? unit.find("unit") : unit.end();
        if (!unit.is_object() || found == unit.end() || !found->is_string())
            return fail(ErrorCode::bad_input, "is not a unit of a sweep", where,
                        "give a folder that `tidemark sweep` wrote to, or its --lines");
        const std::string unit_name = found->get<std::string>();
        if (!units_.insert(unit_name).second)
            return {};
        TM_ASSIGN(
            const UnitResult result, read_unit_line(line, unit_name).map_error([&](Error error) {
                error.where = where;
                error.hint =
                    fmt::format("leave the line out, or delete {}.json and sweep again", unit_name);
                return error;
            }));
        if (over_tiers_.value_or(result.over_tiers) != result.over_tiers)
            return fail(ErrorCode::bad_input, "some units are over tiers, others are not", where,
                        "report them separately: give each sweep its own folder");
        over_tiers_ = result.over_tiers;
        unchecked_ += result.has_checksum ? 0 : 1;
        if (result.figures.failed) {
            failed_.insert(result.error);
            return {};
        }
        figures_[{result.policy, values_of(unit)}].push_back(result.figures);
        if (const auto trace = unit.find("trace_hash"); trace != unit.end())
            traces_.insert(text_of_value(*trace));
        return {};
    }

    Result<SweepResult> take() {
        if (units_.empty())
            return fail(ErrorCode::bad_input, "no unit of a sweep", name_,
                        "give a folder that `tidemark sweep` wrote to, or its --lines");
        SweepResult sweep;
        sweep.units = units_.size();
        sweep.unchecked = unchecked_;
        sweep.traces = traces_.size();
        sweep.over_tiers = over_tiers_.value_or(false);
        sweep.failed.assign(failed_.begin(), failed_.end());
        std::vector<SweptSetting> settings;  // whatever the order of the lines
        std::vector<UnitFigures> all;
        for (auto& [identity, figures] : figures_) {
            for (UnitFigures& each : figures) {
                each.setting = settings.size();
                all.push_back(each);
            }
            settings.push_back({identity.first, identity.second, {}});
        }
        for (const SettingScore& score : rank_settings(all)) {
            sweep.settings.push_back(std::move(settings[score.setting]));
            sweep.settings.back().score = score;
        }
        sweep.axes = sweep_axes(sweep.settings);
        sweep.front = front_of(sweep.settings);
        return sweep;
    }

  private:
    // Of those that ran all traces with the fewest requests out of memory.
    static std::vector<bool> front_of(std::span<const SweptSetting> settings) {
        std::vector<MemoryAndTime> points;
        std::size_t traces = 0;
        for (const SweptSetting& setting : settings)
            traces = std::max(traces, setting.score.traces);
        for (const SweptSetting& setting : settings)
            points.push_back(
                {setting.score.ratio, setting.score.time,
                 setting.score.traces == traces &&
                     setting.score.out_of_memory == settings.front().score.out_of_memory});
        return pareto_front(points);
    }

    const std::string& name_;
    std::size_t row_ = 0;
    std::optional<bool> over_tiers_;
    std::set<std::string> units_;
    std::size_t unchecked_ = 0;
    std::set<std::string> traces_;
    std::set<std::string> failed_;
    std::map<std::pair<std::string, Values>, std::vector<UnitFigures>> figures_;
};

}  // namespace

std::string_view ratio_name(const SweepResult& sweep) {
    return sweep.over_tiers ? "slowdown" : "reserved / requested";
}

std::string_view time_name(const SweepResult& sweep) {
    return sweep.over_tiers ? "stall" : "driver time";
}

Result<SweepResult> read_sweep(std::string_view lines, const std::string& name) {
    Reading reading(name);
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
        if (!trimmed(lines.substr(0, end)).empty())
            TM_TRY(reading.read(lines.substr(0, end)));
        lines.remove_prefix(end);
    }
    return reading.take();
}

}  // namespace tidemark
