// The shared values.
#include "replay/report/forms/json_values.h"

#include <fmt/format.h>

#include "core/base/printable.h"

namespace tidemark::report {
namespace {

Json option_of(const OptionInfo& option) {
    Json object{{"name", option.name},       {"type", to_text(option.type)},
                {"unit", option.unit},       {"default", option.default_value},
                {"minimum", option.minimum}, {"maximum", option.maximum}};
    object["choices"] = std::vector<std::string>(option.choices.begin(), option.choices.end());
    object["summary"] = option.summary;
    object["source"] = option.source;
    return object;
}

}  // namespace

std::string text_of(const Json& json) {
    return printable_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string hash_text(std::uint64_t hash) {
    return fmt::format("{:016x}", hash);
}

Json provenance_of(const Provenance& provenance,
                   std::initializer_list<std::pair<const char*, std::uint64_t>> hashes) {
    Json object{{"version", provenance.version}, {"command", provenance.command}};
    for (const auto& [name, hash] : hashes)
        object[name] = hash_text(hash);
    return object;
}

Json spread_of(const std::optional<PeakSpread>& spread) {
    if (!spread)
        return {};
    return {{"p5", spread->p5}, {"p50", spread->p50}, {"p95", spread->p95}, {"runs", spread->runs}};
}

Json usage_of(const Usage& usage) {
    return {{"reserved_bytes", usage.reserved},
            {"allocated_bytes", usage.allocated},
            {"active_bytes", usage.active},
            {"mapped_bytes", usage.mapped}};
}

void add_uses(Json& object, const UseCounts& uses) {
    object["launches"] = uses.launches;
    object["unknown_launches"] = uses.unknown_launches;
    object["uses"] = uses.uses;
    object["possible_uses"] = uses.possible;
    object["executions"] = uses.executions;
    object["execution_ns"] = uses.execution_time;
}

Json device_peaks_of(std::span<const Bytes> reserved) {
    return list_of(reserved, [&](const Bytes bytes) -> Json {
        return {{"peak_reserved_bytes", bytes}};
    });
}

Json pairs(std::span<const std::pair<std::string, std::string>> values) {
    Json object = Json::object();
    for (const auto& [key, value] : values)
        object[key] = value;
    return object;
}

Json options_of(std::span<const OptionInfo> options) {
    return list_of(options, option_of);
}

}  // namespace tidemark::report
