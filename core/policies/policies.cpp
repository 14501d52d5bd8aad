// The catalogue of policies: every line of policies.inc, and finding one by name.
#include <algorithm>
#include <array>
#include <string>

#include "core/allocator/allocator.h"
#include "core/allocator/policy_file.h"
#include "core/base/catalogue.h"

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
    if (const PolicyInfo* loaded = loaded_policy(name))
        return loaded;
    std::string other(name);
    std::replace(other.begin(), other.end(), '_', '-');
    for (const PolicyInfo& policy : all_policies()) {
        if (!other.empty() && policy.also_called == other)
            return &policy;
    }
    return find_named(all_policies(), "policy", name);
}

}  // namespace tidemark
