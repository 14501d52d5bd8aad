// Shapes first, then what lasts.
#include "replay/analysis/scale/one_size_laws.h"

#include <vector>

namespace tidemark {

OneSizeLaws::OneSizeLaws(const StepRequests& requests, std::size_t reference)
    : requests_(requests) {
    std::vector<ShapedRequest> shaped;
    for (const StepRequest& request : requests.of(reference))
        if (request.operation != 0)
            shaped.push_back({request.size, &requests.operator_of(request)});
    shape_ = find_batch(shaped, requests.lasting);
}

std::optional<AxisPowers> OneSizeLaws::shaped(const StepRequest& request) const {
    return powers_of({request.size, &requests_.operator_of(request)}, shape_, requests_.lasting);
}

AxisPowers OneSizeLaws::powers(const StepRequest& request) const {
    if (const auto powers = shaped(request))
        return *powers;
    return is_as_large_as_lasting(requests_.lasting, request.size) ? AxisPowers{}
                                                                   : AxisPowers{1, 1};
}

bool OneSizeLaws::is_of_weights(const StepRequest& request) const {
    return works_on_weights(requests_.operator_of(request), requests_.lasting);
}

double OneSizeLaws::guessed() const {
    double all = 0, guessed = 0;
    for (const StepRequest& request : requests_.requests) {
        const auto size = static_cast<double>(request.size);
        all += size;
        guessed += shaped(request) ? 0 : size;
    }
    return all > 0 ? guessed / all : 1;
}

}  // namespace tidemark
