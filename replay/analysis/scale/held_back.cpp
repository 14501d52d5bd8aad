// The laws once more, without the step.
#include "replay/analysis/scale/held_back.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tidemark {

Result<std::optional<HeldBack>> hold_back(const Trace& trace, const StepRequests& requests,
                                          const SizeLaws& laws) {
    constexpr std::size_t kFewSteps = 4;  // the first, two to learn from, and the one held back
    const std::size_t step = laws.reference;
    if (!laws.has_sizes || requests.steps.size() < kFewSteps)
        return std::nullopt;
    TM_ASSIGN(SizeLaws others, find_size_laws(requests, step));
    const ScaleFactors growth{others.steps[step].batch, others.steps[step].length};
    if (!others.has_sizes || growth.batch * growth.length <= 1)
        return std::nullopt;
    std::array<std::size_t, 2> wanted{step, others.reference};
    std::ranges::sort(wanted);
    TM_ASSIGN(RecordedSteps steps, RecordedSteps::read(trace, requests, others, wanted,
                                                       std::array<std::size_t, 1>{step}));
    return HeldBack{std::move(others), std::move(steps), step, growth};
}

}  // namespace tidemark
