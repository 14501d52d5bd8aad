// Four passes: the steps, their requests, and what each frees, once more without the largest.
#include "replay/analysis/scale/scale_model.h"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

namespace tidemark {

Result<ScaleModel> find_scale(const Trace& trace) {
    TM_ASSIGN(StepRequests requests, read_step_requests(trace));
    const std::size_t recorded = requests.steps.size();
    if (trace.info().begins_inside && recorded == 2)
        return fail(ErrorCode::unsupported,
                    "the recording starts inside a step, and only one whole step follows", "",
                    "record two more steps, or record from the program's start");
    TM_ASSIGN(SizeLaws laws, find_size_laws(requests));
    std::vector<std::size_t> wanted(recorded);
    std::iota(wanted.begin(), wanted.end(), 1);
    TM_ASSIGN(RecordedSteps steps, RecordedSteps::read(trace, requests, laws, wanted,
                                                       std::array<std::size_t, 2>{1, recorded}));
    TM_ASSIGN(std::optional<HeldBack> held_back, hold_back(trace, requests, laws));
    return ScaleModel{std::move(requests), std::move(laws), std::move(steps), std::move(held_back)};
}

}  // namespace tidemark
