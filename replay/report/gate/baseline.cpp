// The input is hostile: people edit such files, and merge them.
#include "replay/report/gate/baseline.h"

#include <cmath>
#include <limits>

#include "backends/sim/json_value.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {
namespace {

using report::Json;

constexpr const char* kBaselineHint =
    "a baseline is what `tidemark gate TRACE --write-baseline FILE` writes";

Error baseline_fault(std::string_view where, const std::string& path, std::string what,
                     std::string /*hint*/) {
    return {ErrorCode::bad_input, path.empty() ? what : path + ": " + what, std::string{where},
            kBaselineHint};
}

constexpr JsonStyle kBaselineStyle{.pointers = false, .text = "a string", .error = baseline_fault};

using Value = JsonValue<Json>;

std::string text_at(const Value& object, std::string_view key) {
    const Value member = object.member(key);
    return member.present() ? member.text() : std::string();
}

Bytes bytes_at(const Value& object, std::string_view key) {
    return object.member(key).count(std::numeric_limits<Bytes>::max());
}

}  // namespace

Result<Baseline> read_baseline(std::string_view text, const std::string& name) {
    const Json json = Json::parse(text, nullptr, false);
    JsonDocument document(kBaselineStyle, name);
    const Value object(document, &json);
    if (json.is_discarded())
        object.refuse("is not JSON");
    Baseline baseline{.name = name};
    if (!object.at_fault() && object.is_object()) {
        baseline.policy = text_at(object, "spec");
        baseline.profile = text_at(object, "profile");
        baseline.memory = bytes_at(object, "memory_bytes");
        baseline.limit = bytes_at(object, "limit_bytes");
        for (const auto& [key, value] : json.items())
            if (value.is_number() && std::isfinite(value.get<double>()))
                baseline.figures.emplace_back(key, value.get<double>());
        baseline.scale = baseline.figure("scale").value_or(1);
        if (const Value origin = object.optional_member("provenance");
            origin.present() && origin.is_object())
            baseline.version = text_at(origin, "version");
    }
    if (document.fault())
        return tl::make_unexpected(*document.fault());
    return baseline;
}

}  // namespace tidemark
