// One-size laws: how sizes grow if all steps have the same size: by the shapes that were recorded
// with them, else by a guess.
#pragma once

#include <cstddef>
#include <optional>

#include "replay/analysis/scale/operator_shapes.h"
#include "replay/analysis/scale/step_requests.h"

namespace tidemark {

class OneSizeLaws {
  public:
    // `requests` must outlive this. The batch is that of the step `reference`. O(its requests).
    OneSizeLaws(const StepRequests& requests, std::size_t reference);

    const BatchShape& shape() const { return shape_; }

    // By shapes; none: they don't explain it. Here and below O(the operator's arguments).
    std::optional<AxisPowers> shaped(const StepRequest& request) const;

    // By shapes, or else: an allocation as large as something that lasts stays, and everything else
    // grows as most of a step does. {0, 0}: it stays.
    AxisPowers powers(const StepRequest& request) const;

    // Whether its operator works on weights alone.
    bool is_of_weights(const StepRequest& request) const;

    // The share of all bytes that shapes don't explain. O(requests).
    double guessed() const;

  private:
    const StepRequests& requests_;
    BatchShape shape_;
};

}  // namespace tidemark
