// A policy's text, both ways.
#include "core/allocator/spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"

namespace tidemark {

std::string PolicySpec::text() const {
    TM_CHECK(policy != nullptr);
    std::string text(policy->name);
    char mark = ':';
    for (const auto& [name, value] : options.all()) {
        if (options.is_default(name))
            continue;
        text += fmt::format("{}{}={}", mark, name, value);
        mark = ',';
    }
    return text;
}

Result<PolicySpec> PolicySpec::with_limit(Bytes limit) const {
    const bool keeps_limit =
        std::any_of(policy->options.begin(), policy->options.end(), [](const OptionInfo& option) {
            return option.name == "limit" && option.type == OptionType::bytes;
        });
    if (limit == 0 || !keeps_limit || options.bytes("limit") == limit)
        return *this;
    if (!options.is_default("limit"))
        return fail(ErrorCode::bad_option,
                    fmt::format("policy {} has a limit of its own ({})", policy->name,
                                format_bytes(options.bytes("limit"))),
                    "--limit", "give one of the two");
    const std::string without = text();
    const char mark = without.find(':') == std::string::npos ? ':' : ',';
    return parse_policy(fmt::format("{}{}limit={}", without, mark, limit));
}

Result<std::unique_ptr<Allocator>> PolicySpec::make(Device& device) const {
    TM_CHECK(policy != nullptr);
    return policy->make(device, options);
}

Result<PolicySpec> parse_policy(std::string_view text) {
    const std::size_t mark = text.find(':');
    PolicySpec spec;
    TM_ASSIGN(spec.policy, find_policy(text.substr(0, mark)));
    const std::string_view options =
        mark == std::string_view::npos ? std::string_view{} : text.substr(mark + 1);
    TM_ASSIGN(spec.options, Options::parse(spec.policy->options, options,
                                           fmt::format("policy {}", spec.policy->name)));
    return spec;
}

}  // namespace tidemark
