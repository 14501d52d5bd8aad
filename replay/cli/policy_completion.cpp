// The steps of a policy's text: NAME, then key=value pairs; ':' may stand for '=' in them.
#include "replay/cli/policy_completion.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 2> kBooleans{"true", "false"};

std::span<const std::string_view> values_of(const OptionInfo& option) {
    return option.type == OptionType::boolean ? kBooleans : option.choices;
}

bool has_key(std::string_view settings, std::string_view key) {
    while (!settings.empty()) {
        const std::size_t end = std::min(settings.find(','), settings.size());
        const std::string_view pair = settings.substr(0, end);
        if (pair.substr(0, pair.find_first_of("=:")) == key)
            return true;
        settings.remove_prefix(std::min(end + 1, settings.size()));
    }
    return false;
}

std::vector<std::string> names(std::string_view text, std::span<const CompletedPolicy> policies) {
    std::vector<std::string> found;
    for (const CompletedPolicy& policy : policies) {
        if (!policy.name.starts_with(text))
            continue;
        found.emplace_back(policy.name);
        if (policy.name == text && !policy.options.empty())
            found.push_back(fmt::format("{}:", text));
    }
    return found;
}

}  // namespace

std::vector<std::string> complete_policy(std::string_view text,
                                         std::span<const CompletedPolicy> policies) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return names(text, policies);
    const auto policy = std::ranges::find(policies, text.substr(0, colon), &CompletedPolicy::name);
    if (policy == policies.end())
        return {};
    const std::string_view settings = text.substr(colon + 1);
    const std::size_t comma = settings.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const std::string_view pair = settings.substr(begin);
    const std::string_view before = text.substr(0, colon + 1 + begin);
    const std::size_t equals = pair.find_first_of("=:");
    const std::string_view key = pair.substr(0, equals);
    std::vector<std::string> found;
    for (const OptionInfo& option : policy->options) {
        if (equals == std::string_view::npos) {
            if (option.name.starts_with(key) && !has_key(settings.substr(0, begin), option.name))
                found.push_back(fmt::format("{}{}=", before, option.name));
        } else if (option.name == key) {
            for (const std::string_view value : values_of(option))
                if (value.starts_with(pair.substr(equals + 1)))
                    found.push_back(fmt::format("{}{}{}{}", before, key, pair[equals], value));
        }
    }
    return found;
}

}  // namespace tidemark
