// The catalogue of victim policies: every line of victims.inc, and reading one from its text.
#include <array>

#include <fmt/format.h>

#include "core/base/catalogue.h"
#include "core/base/check.h"
#include "core/tiers/victims/victim_policy.h"

namespace tidemark {

namespace victims {
#define TIDEMARK_VICTIM(name) VictimPolicyInfo name();
#include "core/tiers/victims/victims.inc"
#undef TIDEMARK_VICTIM
}  // namespace victims

std::span<const VictimPolicyInfo> all_victim_policies() {
    static const std::array kPolicies{
#define TIDEMARK_VICTIM(name) victims::name(),
#include "core/tiers/victims/victims.inc"
#undef TIDEMARK_VICTIM
    };
    return kPolicies;
}

std::string VictimSpec::text() const {
    TM_CHECK(policy != nullptr);
    return with_options(policy->name, options);
}

Result<VictimSpec> parse_victim_policy(std::string_view text) {
    VictimSpec spec;
    const std::size_t mark = text.find(':');
    TM_ASSIGN(spec.policy,
              find_named(all_victim_policies(), "victim policy", text.substr(0, mark)));
    const std::string_view options =
        mark == std::string_view::npos ? std::string_view{} : text.substr(mark + 1);
    TM_ASSIGN(spec.options, Options::parse(spec.policy->options, options,
                                           fmt::format("victim policy {}", spec.policy->name)));
    return spec;
}

}  // namespace tidemark
