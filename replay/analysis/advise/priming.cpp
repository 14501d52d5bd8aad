// First sizes from what is live at the peak up to what is reserved there; then between the best and
// its neighbours.
#include "replay/analysis/advise/priming.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

namespace tidemark {
namespace {

constexpr std::array<unsigned, 9> kPercents{90, 95, 100, 103, 106, 110, 120, 135, 160};
constexpr std::size_t kRounds = 4;
constexpr Bytes kUnit = 2_MiB;  // of segments of that size

bool is_better(const Tried& a, const Tried& b) {
    const auto rank = [](const Tried& tried) {
        return std::tuple(tried.result.refusals(), tried.result.peak.reserved, tried.prime);
    };
    return rank(a) < rank(b);
}

}  // namespace

Result<std::optional<Tried>> search_priming(const Trace& trace, const SearchSetup& setup,
                                            const Tried& before) {
    std::vector<Tried> tried;  // by size
    const auto evaluate = [&](std::vector<Bytes> sizes) -> Result<void> {
        std::vector<TrialSetup> setups;
        for (const Bytes size : sizes) {
            setups.push_back(setup.base);
            setups.back().prime = size;
        }
        TM_ASSIGN(const std::vector<TrialResult> results,
                  run_trials(trace, setups,
                             {.threads = setup.threads, .progress = {}, .stop = setup.stop}));
        for (std::size_t i = 0; i < results.size(); ++i) {
            Tried one = before;
            one.prime = sizes[i];
            one.result = results[i];
            tried.push_back(std::move(one));
        }
        std::ranges::sort(tried, {}, &Tried::prime);
        return {};
    };
    std::vector<Bytes> sizes;
    for (const unsigned percent : kPercents) {
        const Bytes size = align_up(before.result.peak.active / 100 * percent, kUnit);
        if (size > 0 && size < before.result.peak.reserved &&
            (sizes.empty() || sizes.back() != size))
            sizes.push_back(size);
    }
    TM_TRY(evaluate(std::move(sizes)));
    for (std::size_t round = 0; round < kRounds && !tried.empty(); ++round) {
        const auto best = std::ranges::min_element(tried, is_better);
        std::vector<Bytes> between;
        const auto add = [&](Bytes low, Bytes high) {
            const Bytes middle = (low + high) / 2 / kUnit * kUnit;
            if (middle > low && middle < high)
                between.push_back(middle);
        };
        if (best != tried.begin())
            add(std::prev(best)->prime, best->prime);
        if (std::next(best) != tried.end())
            add(best->prime, std::next(best)->prime);
        if (between.empty() || (setup.stop && setup.stop()))
            break;
        TM_TRY(evaluate(std::move(between)));
    }
    const auto best = std::ranges::min_element(tried, is_better);
    if (best == tried.end() || !is_improvement(*best, before, setup.timed))
        return std::optional<Tried>();
    return std::optional<Tried>(std::move(*best));
}

}  // namespace tidemark
