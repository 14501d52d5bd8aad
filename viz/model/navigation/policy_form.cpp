// PolicyForm: see the header.
#include "viz/model/navigation/policy_form.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark::viz {
namespace {

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    return lower;
}

// Whether it has each part of `wanted`, between blanks.
bool has_all(const std::string& text, std::string_view wanted) {
    while (!(wanted = trimmed(wanted)).empty()) {
        const std::string_view part = wanted.substr(0, wanted.find(' '));
        if (text.find(part) == std::string::npos)
            return false;
        wanted.remove_prefix(part.size());
    }
    return true;
}

}  // namespace

PolicyForm::PolicyForm(const PolicyInfo& info) : policy(&info) {
    for (const OptionInfo& option : info.options)
        fields.push_back({&option, {}});
    for (const OptionInfo& option : wrapper_options())
        fields.push_back({&option, {}});
}

std::string PolicyForm::typed() const {
    std::string text(policy->name);
    char before = ':';
    for (const Field& field : fields) {
        const std::string_view value = trimmed(field.value);
        if (value.empty())
            continue;
        text += fmt::format("{}{}={}", before, field.option->name, value);
        before = ',';
    }
    return text;
}

std::vector<const PolicyInfo*> policies_with(std::string_view text) {
    const std::string wanted = lower_case(trimmed(text));
    std::vector<const PolicyInfo*> found;
    for (const PolicyInfo& policy : all_policies())
        if (has_all(lower_case(fmt::format("{} {}", policy.name, policy.summary)), wanted))
            found.push_back(&policy);
    std::ranges::stable_partition(
        found, [&](const PolicyInfo* policy) { return policy->name.starts_with(wanted); });
    return found;
}

std::string policy_argument(const std::string& spec) {
    constexpr std::string_view kPlain = "_:=,.%+-/@";
    const bool is_plain = std::ranges::all_of(spec, [&](unsigned char letter) {
        return std::isalnum(letter) != 0 ||
               kPlain.find(static_cast<char>(letter)) != std::string_view::npos;
    });
    if (is_plain)
        return "--policy " + spec;
    std::string quoted;
    for (const char letter : spec)
        quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return fmt::format("--policy '{}'", quoted);
}

}  // namespace tidemark::viz
