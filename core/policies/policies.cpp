// The catalogue of policies: every line of policies.inc, and finding one by name.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/base/text.h"

namespace tidemark {

namespace policies {
#define TIDEMARK_POLICY(name) PolicyInfo name();
#include "core/policies/policies.inc"
#undef TIDEMARK_POLICY
}  // namespace policies

std::span<const PolicyInfo> all_policies() {
    static const std::array kPolicies{
#define TIDEMARK_POLICY(name) policies::name(),
#include "core/policies/policies.inc"
#undef TIDEMARK_POLICY
    };
    return kPolicies;
}

Result<const PolicyInfo*> find_policy(std::string_view name) {
    std::string wanted(name);
    std::replace(wanted.begin(), wanted.end(), '_', '-');
    std::vector<std::string_view> names;
    for (const PolicyInfo& policy : all_policies()) {
        if (policy.name == wanted)
            return &policy;
        names.push_back(policy.name);
    }
    const std::string_view near = nearest(wanted, names);
    return fail(ErrorCode::bad_option, fmt::format("there is no policy '{}'", name), {},
                near.empty() ? fmt::format("one of: {}", fmt::join(names, ", "))
                             : fmt::format("did you mean '{}'?", near));
}

}  // namespace tidemark
