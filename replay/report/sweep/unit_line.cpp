// Compact: a folder of units is a JSON Lines file in pieces.
#include "replay/report/sweep/unit_line.h"

#include <cmath>
#include <span>

#include <fmt/format.h>

#include "core/base/printable.h"
#include "core/base/text.h"
#include "replay/metrics/devices.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/tiers/tier_figures.h"
#include "traces/tmk/wire.h"

namespace tidemark {
namespace {

using report::Json;

double number_at(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<double>() : std::nan("");
}

std::string text_at(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void add_figures(Json& object, const Run& run) {
    object["policy"] = run.policy_name;
    object["spec"] = run.scenario.policy;
    object["options"] = report::pairs(run.policy_options);
    object["profile_hash"] = report::hash_text(run.profile_hash);
    object["memory_bytes"] = run.scenario.memory;
    object["overhead_bytes"] = run.scenario.held();
    object["limit_bytes"] = run.limit;
    object["scale"] = run.scenario.scale;
    object["events"] = run.summary.events;
    for (const Measurement& each : run.measurements) {
        if (is_of_device(each))
            continue;
        if (each.unit == Unit::ratio)
            object[std::string(each.name)] = each.real;
        else
            object[std::string(each.name)] = each.whole;
    }
}

Json begin_line(const UnitIdentity& unit) {
    return {{"unit", unit.name},
            {"version", unit.version},
            {"trace_hash", report::hash_text(unit.trace_hash)}};
}

constexpr std::string_view kChecksumKey = R"(,"checksum":")";

// The end of `line`, which has everything else.
std::string checksum_end(std::string_view line) {
    const std::uint64_t hash = tmk::hash_bytes(std::as_bytes(std::span(line)));
    return fmt::format("{}{}\"}}\n", kChecksumKey, report::hash_text(hash));
}

std::string end_line(Json& object, const Error* error) {
    object["error"] = error != nullptr ? Json(to_text(*error)) : Json();
    std::string line = printable_json(object.dump(-1, ' ', false, Json::error_handler_t::replace));
    line.pop_back();  // the brace
    return line + checksum_end(line);
}

// The keys of a unit's figures in its line.
struct FigureKeys {
    const char* ratio;
    const char* time;
    const char* bytes;
};

constexpr FigureKeys kPolicyKeys{"overhead_ratio", "driver_ns", "peak_reserved_bytes"};
constexpr FigureKeys kTierKeys{"slowdown", "stall_ns", "moved_bytes"};

}  // namespace

std::string unit_line(const UnitIdentity& unit, const SweepSetting& setting,
                      const Result<Run>& result) {
    Json object = begin_line(unit);
    if (result)
        add_figures(object, *result);
    else
        object["spec"] = setting.policy;
    return end_line(object, result ? nullptr : &result.error());
}

std::string unit_line(const UnitIdentity& unit, const TierSetting& setting,
                      const Result<TierRun>& result) {
    Json object = begin_line(unit);
    object["machine_hash"] = report::hash_text(setting.machine_hash);
    if (result)
        object.update(report::tier_figures(*result));
    else
        object["spec"] = setting.scenario.spill;
    return end_line(object, result ? nullptr : &result.error());
}

Result<UnitResult> read_unit_line(std::string_view text, const std::string& name) {
    const auto bad = [&name](const char* what) {
        return fail(ErrorCode::bad_input, what, name, "delete the file to compute the unit again");
    };
    if (!text.ends_with('\n') || text.find('\n') + 1 != text.size())
        return bad("is not one line");
    const std::size_t end = text.rfind(kChecksumKey);
    const bool has_checksum = end != std::string_view::npos;
    if (has_checksum && text.substr(end) != checksum_end(text.substr(0, end)))
        return bad("was changed after it was written: its checksum differs");
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object() || text_at(object, "unit") != name)
        return bad("is not the result of that unit");
    UnitResult result{.line = std::string(text),
                      .policy = text_at(object, "spec"),
                      .figures = {},
                      .error = text_at(object, "error")};
    result.has_checksum = has_checksum;
    result.over_tiers = object.contains("machine_hash");
    result.figures.failed = !result.error.empty();
    if (result.figures.failed)
        return result;
    const FigureKeys& keys = result.over_tiers ? kTierKeys : kPolicyKeys;
    const double ratio = number_at(object, keys.ratio);
    const double time = number_at(object, keys.time);
    const double refused = number_at(object, "out_of_memory");
    const double bytes = number_at(object, keys.bytes);
    for (const double value : {ratio, time, refused, bytes})
        if (!(value >= 0 && value < 0x1p62))
            return bad("does not have the figures of a unit");
    result.figures.ratio = ratio;
    result.figures.time = static_cast<Nanoseconds>(time);
    result.figures.out_of_memory = static_cast<std::uint64_t>(refused);
    result.peak_reserved = static_cast<Bytes>(bytes);
    return result;
}

}  // namespace tidemark
