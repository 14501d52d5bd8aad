// One replay a choice.
#include "replay/analysis/advise/offer_search.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "replay/analysis/spread/worthwhile.h"

namespace tidemark {
namespace {

double peak_of(const Tried& tried) {
    return static_cast<double>(tried.result.peak.reserved);
}

// The best first; of those that need about as much as the best, the fastest.
void put_in_order(std::vector<Tried>& tried, const Tried& before, bool timed) {
    std::ranges::stable_sort(tried, {}, [&](const Tried& each) {
        return std::tuple(each.result.refusals(), !acceptable_price(each, before, timed),
                          each.result.peak.reserved, each.steady_time());
    });
    const auto as_good = std::ranges::find_if_not(tried, [&](const Tried& each) {
        return each.result.refusals() == tried.front().result.refusals() &&
               acceptable_price(each, before, timed) ==
                   acceptable_price(tried.front(), before, timed) &&
               peak_of(each) <= peak_of(tried.front()) * (1 + kWorthwhileSaving);
    });
    const auto quickest = std::ranges::min_element(tried.begin(), as_good, {}, &Tried::steady_time);
    if (quickest != tried.end())
        std::rotate(tried.begin(), quickest, std::next(quickest));
}

}  // namespace

Result<SearchResult> search_offers(const Trace& trace, const SearchSetup& setup,
                                   const std::vector<PolicySpec>& policies) {
    SearchResult found;
    found.before.policy = setup.base.policy;
    TM_ASSIGN(found.before.result, run_trial(trace, setup.base));
    std::vector<Tried> tried;
    std::vector<TrialSetup> setups;
    for (const PolicySpec& policy : policies) {
        if (policy.text() == setup.base.policy.text())
            continue;
        tried.push_back({.choice = {}, .policy = policy, .result = {}});
        setups.push_back(setup.base);
        setups.back().policy = policy;
    }
    const std::size_t total = setups.size() + 1;
    TrialOptions options{.threads = setup.threads, .progress = {}, .stop = setup.stop};
    if (setup.progress)
        options.progress = [&](std::size_t done, std::size_t) { setup.progress(done + 1, total); };
    TM_ASSIGN(std::vector<TrialResult> results, run_trials(trace, setups, options));
    found.interrupted = results.size() < setups.size();
    tried.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i)
        tried[i].result = std::move(results[i]);
    found.trials = tried.size() + 1;
    put_in_order(tried, found.before, setup.timed);

    found.best = found.before;
    found.floor = found.before.result.peak.active;
    std::set<std::string_view> listed;
    for (Tried& each : tried) {
        found.floor = each.result.refusals() == 0 ? std::min(found.floor, each.result.peak.active)
                                                  : found.floor;
        const bool improves = is_improvement(each, found.before, setup.timed);
        const bool is_new = listed.insert(each.policy.policy->name).second;
        if (improves && !found.improves) {
            found.best = std::move(each);
            found.improves = true;
        } else if (improves && is_new) {
            found.others.push_back(std::move(each));
        } else if (!improves && is_new &&
                   each.result.refusals() <= found.before.result.refusals() &&
                   peak_of(each) < peak_of(found.before) * (1 - kWorthwhileSaving) &&
                   (!found.dear || each.result.peak.reserved < found.dear->result.peak.reserved)) {
            found.dear = std::move(each);
        }
    }
    return found;
}

}  // namespace tidemark
