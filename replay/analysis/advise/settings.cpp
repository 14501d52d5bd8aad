// Settings as values, and as the texts that PyTorch and our own policies read.
#include "replay/analysis/advise/settings.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "core/policies/torch_settings.h"

namespace tidemark {
namespace {

using Divisions = std::array<std::uint32_t, kTorchOctaves>;

constexpr std::array<std::string_view, 6> kSearched{
    "expandable_segments",          "max_split_size_mb",
    "max_non_split_rounding_mb",    "roundup_power2_divisions",
    "garbage_collection_threshold", "large_segment_size_mb",
};

constexpr std::array<std::string_view, 2> kNoKeys{"limit", "version"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

// The first octave of the run of equal values at the end.
std::size_t last_run(const Divisions& divisions) {
    std::size_t first = kTorchOctaves - 1;
    while (first > 0 && divisions[first - 1] == divisions[first])
        --first;
    return first;
}

// The first octave whose key must be written: the first key speaks for all below.
std::size_t first_key(const Divisions& divisions) {
    std::size_t key = 0;
    while (key + 1 < kTorchOctaves && divisions[key + 1] == divisions[0])
        ++key;
    return key;
}

// One number, or a list of as few entries as say the same.
std::string divisions_text(const Divisions& divisions) {
    const std::size_t end = last_run(divisions);
    if (end == 0)
        return fmt::format("{}", divisions[0]);
    std::string list;
    for (std::size_t octave = first_key(divisions); octave <= end; ++octave)
        list += fmt::format("{}:{},", 1U << octave, std::max(divisions[octave], 1U));
    return fmt::format("[{}>:{}]", list, std::max(divisions[end], 1U));
}

bool any(const Divisions& divisions) {
    return std::ranges::any_of(divisions, [](auto value) { return value != 0; });
}

std::size_t entries(const Divisions& divisions) {
    const std::size_t end = last_run(divisions);
    if (!any(divisions))
        return 0;
    return end == 0 ? 1 : end - first_key(divisions) + 2;
}

}  // namespace

std::size_t TorchChoice::complexity() const {
    return std::size_t{expandable} + std::size_t{max_split_mb != 0} +
           std::size_t{non_split_rounding_mb != 20} + std::size_t{gc_percent != 0} +
           std::size_t{large_segment_mb != 20} + entries(divisions);
}

unsigned TorchChoice::family() const {
    return unsigned{expandable} | unsigned{max_split_mb != 0} << 1U |
           unsigned{any(divisions)} << 2U | unsigned{gc_percent != 0} << 3U |
           unsigned{large_segment_mb != 20} << 4U;
}

std::string TorchChoice::text() const {
    std::string text;
    const auto add = [&text](std::string_view key, const std::string& value) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", key, value);
    };
    if (expandable)
        add("expandable_segments", "True");
    if (max_split_mb != 0)
        add("max_split_size_mb", fmt::format("{}", max_split_mb));
    if (non_split_rounding_mb != 20)
        add("max_non_split_rounding_mb", fmt::format("{}", non_split_rounding_mb));
    if (any(divisions))
        add("roundup_power2_divisions", divisions_text(divisions));
    if (gc_percent != 0)
        add("garbage_collection_threshold", fmt::format("0.{:02}", gc_percent));
    if (large_segment_mb != 20)
        add("large_segment_size_mb", fmt::format("{}", large_segment_mb));
    return text;
}

Result<TorchChoice> choice_of(const PolicySpec& spec) {
    TM_ASSIGN(const policies::TorchSettings settings, policies::TorchSettings::from(spec.options));
    TorchChoice choice;
    choice.expandable = settings.expandable;
    choice.max_split_mb = spec.options.count("max_split_size_mb");
    choice.non_split_rounding_mb = spec.options.count("max_non_split_rounding_mb");
    for (std::size_t i = 0; i < kTorchOctaves; ++i)
        choice.divisions[i] =
            settings.divisions[i] > 1 ? static_cast<std::uint32_t>(settings.divisions[i]) : 0;
    choice.large_segment_mb = spec.options.count("large_segment_size_mb");
    choice.gc_percent = static_cast<unsigned>(std::lround(settings.gc_threshold * 100));
    return choice;
}

Result<PolicySpec> with_choice(const PolicySpec& base, const TorchChoice& choice) {
    std::string text = choice.text();
    for (const auto& [name, value] : base.options.all())
        if (!is_one_of(name, kSearched) && !base.options.is_default(name))
            text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
    return parse_policy(text.empty() ? "torch" : "torch:" + text);
}

std::string torch_conf(const PolicySpec& spec) {
    std::string text;
    for (const auto& [name, value] : spec.options.all()) {
        if (spec.options.is_default(name) || is_one_of(name, kNoKeys))
            continue;
        const OptionInfo* info = nullptr;
        for (const OptionInfo& option : spec.policy->options)
            if (option.name == name)
                info = &option;
        const bool truth = info != nullptr && info->type == OptionType::boolean;
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", name,
                            !truth                       ? value
                            : spec.options.boolean(name) ? "True"
                                                         : "False");
    }
    return text;
}

}  // namespace tidemark
