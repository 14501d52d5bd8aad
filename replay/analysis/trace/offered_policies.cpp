// Sizes that are offered depend on what is requested at most.
#include "replay/analysis/trace/offered_policies.h"

#include "core/allocator/spec.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/allocator_family.h"

namespace tidemark {

Result<std::vector<std::string>> offered_policies(const Trace& trace) {
    std::vector<std::string> texts;
    const AllocatorFamily* const family = allocator_family(trace.info());
    if (family == nullptr || family->offers == nullptr)
        return texts;
    TM_ASSIGN(const TraceSummary summary, summarize(trace));
    for (const PolicyOffer& offer :
         policy_offers(trace.info(), summary.requested.value, kOffersToCompare)) {
        TM_ASSIGN(const PolicySpec spec, parse_policy(offer.policy));
        texts.push_back(spec.text());
    }
    return texts;
}

}  // namespace tidemark
