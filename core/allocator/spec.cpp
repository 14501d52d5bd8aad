// A policy's text, both ways.
#include "core/allocator/spec.h"

#include <fmt/format.h>

#include "core/base/check.h"

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
