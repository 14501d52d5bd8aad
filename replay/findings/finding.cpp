// Names, and the order.
#include "replay/findings/finding.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace tidemark::findings {
namespace {

constexpr std::array<std::string_view, 23> kFindingKinds{
    "no_history",
    "out_of_memory",
    "does_not_fit",
    "leak",
    "drift",
    "beyond_memory",
    "fragmentation",
    "setting",
    "near_limit",
    "retries",
    "growth_while_free",
    "waiting",
    "other_streams",
    "cached",
    "pinned",
    "rounding",
    "lost_events",
    "cache_growth",
    "idle",
    "in_use",
    "pools",
    "holders",
    "remark",
};
static_assert(kFindingKinds.size() == static_cast<std::size_t>(Kind::remark) + 1);

constexpr Bytes kProblem = 5;  // one part in so many
constexpr Bytes kWarning = 20;

}  // namespace

std::string_view to_text(Kind kind) {
    return kFindingKinds[static_cast<std::size_t>(kind)];
}

std::string_view to_text(Severity severity) {
    constexpr std::string_view kNames[] = {"note", "warning", "problem"};
    return kNames[static_cast<std::size_t>(severity)];
}

std::uint64_t Finding::figure(std::string_view name) const {
    const auto found =
        std::ranges::find_if(figures, [name](const Figure& each) { return each.name == name; });
    return found == figures.end() ? 0 : found->value;
}

Severity severity_of_waste(Bytes wasted, Bytes reserved) {
    if (reserved == 0 || wasted < reserved / kWarning)
        return Severity::note;
    return wasted >= reserved / kProblem ? Severity::problem : Severity::warning;
}

void put_in_order(std::vector<Finding>& findings) {
    std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
        return std::tuple(b.severity, a.kind) < std::tuple(a.severity, b.kind);
    });
}

}  // namespace tidemark::findings
