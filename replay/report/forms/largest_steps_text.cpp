// The recorded settings first.
#include "replay/report/forms/largest_steps_text.h"

#include <fmt/format.h>

#include "core/base/printable.h"

namespace tidemark {

std::string growth_range_text(double surely, double perhaps) {
    if (perhaps == 0)
        return "none";
    const std::string least = fmt::format("x{:.2f}", surely),
                      most = fmt::format("x{:.2f}", perhaps);
    return least == most ? least : fmt::format("{} to {}", least, most);
}

std::string largest_steps_text(const std::vector<LargestStep>& steps) {
    std::string text;
    for (const LargestStep& step : steps)
        text += fmt::format(
            "{}{} {}", text.empty() ? "" : ", ", growth_range_text(step.surely, step.perhaps),
            step.recorded ? "as recorded" : fmt::format("with {}", printable(step.policy)));
    if (text.empty())
        return {};
    return fmt::format("Steps can be so much larger than those recorded: {} (tidemark scale).\n",
                       text);
}

namespace report {

Json largest_steps_of(const std::vector<LargestStep>& steps) {
    return list_of(steps, [](const LargestStep& step) -> Json {
        return {{"policy", step.policy},
                {"recorded", step.recorded},
                {"growth_surely", or_null(step.surely, 0.0)},
                {"growth_perhaps", or_null(step.perhaps, 0.0)}};
    });
}

}  // namespace report

}  // namespace tidemark
