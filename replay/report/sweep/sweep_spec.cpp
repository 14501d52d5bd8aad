// Members by name; where a member is stored decides what it may be.
#include "replay/report/sweep/sweep_spec.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/sim/json_value.h"
#include "core/base/text.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {
namespace {

using report::Json;
using SpecValue = JsonValue<Json>;
using List = std::vector<std::string> SweepSpec::*;

Error spec_fault(std::string_view where, const std::string& path, std::string what,
                 std::string hint) {
    return {ErrorCode::bad_input, std::move(what),
            path.empty() ? std::string(where) : fmt::format("{}: {}", where, path),
            hint.empty() ? "docs/guide/sweep.md has an example" : std::move(hint)};
}

constexpr JsonStyle kSpecStyle{.text = "a string", .error = spec_fault};

constexpr std::array<std::pair<std::string_view, List>, 9> kLists{{
    {"traces", &SweepSpec::traces},
    {"policies", &SweepSpec::policies},
    {"grid", &SweepSpec::grids},
    {"memory", &SweepSpec::memories},
    {"limit", &SweepSpec::limits},
    {"profile", &SweepSpec::profiles},
    {"machine", &SweepSpec::machines},
    {"gpu_memory", &SweepSpec::gpu_memories},
    {"spill", &SweepSpec::spills},
}};

constexpr std::array<std::string_view, 5> kSingles{"output", "scale", "random", "seed", "halving"};

// A string, or a list of them.
std::vector<std::string> texts_of(const SpecValue& value) {
    if (value->is_string())
        return {value.text()};
    std::vector<std::string> texts;
    if (value.is_list())
        for (std::size_t i = 0; i < value->size(); ++i)
            texts.push_back(value.element(i).text());
    return texts;
}

unsigned count_of(const SpecValue& value) {
    return static_cast<unsigned>(value.count(std::numeric_limits<unsigned>::max()));
}

void read_single(std::string_view name, const SpecValue& value, SweepSpec& spec) {
    if (name == "output")
        spec.output = value.text();
    else if (name == "random")
        spec.random = count_of(value);
    else if (name == "seed")
        spec.seed = count_of(value);
    else if (name == "scale" && value->is_number())
        spec.scale = value->get<double>();
    else if (name == "halving" && value->is_boolean())
        spec.halving = value->get<bool>();
    else
        value.refuse(name == "scale" ? "expected a number" : "expected true or false");
}

void read_member(const SpecValue& object, const std::string& name, SweepSpec& spec) {
    const SpecValue value = object.member(name);
    const auto list =
        std::ranges::find(kLists, name, [](const auto& entry) { return entry.first; });
    if (list != kLists.end()) {
        spec.*(list->second) = texts_of(value);
        return;
    }
    if (std::ranges::find(kSingles, name) != kSingles.end())
        return read_single(name, value, spec);
    std::vector<std::string_view> known(kSingles.begin(), kSingles.end());
    for (const auto& [each, target] : kLists)
        known.push_back(each);
    const std::string_view near = nearest(name, known);
    value.refuse("unknown member", near.empty() ? fmt::format("one of {}", fmt::join(known, ", "))
                                                : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Result<SweepSpec> read_sweep_spec(std::string_view text, const std::string& name) {
    const Json json = Json::parse(text, nullptr, false);
    JsonDocument document(kSpecStyle, name);
    const SpecValue object(document, &json);
    if (json.is_discarded())
        object.refuse("is not JSON",
                      name.ends_with("ml") ? "YAML is not read: write it as JSON" : "");
    SweepSpec spec;
    if (!object.at_fault() && object.is_object())
        for (const auto& [member, value] : json.items())
            read_member(object, member, spec);
    if (document.fault())
        return tl::make_unexpected(*document.fault());
    return spec;
}

}  // namespace tidemark
