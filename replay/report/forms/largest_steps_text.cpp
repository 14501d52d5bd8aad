// The recorded settings come first.
#include "replay/report/forms/largest_steps_text.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/printable.h"

namespace tidemark {

std::string growth_range_text(double surely, double perhaps, std::int64_t recorded) {
    if (perhaps == 0)
        return "none";
    const auto range = [](const std::string& least, const std::string& most) {
        return least == most ? least : fmt::format("{} to {}", least, most);
    };
    const auto whole = [&](double growth) {
        return fmt::format("{:.0f}", std::floor(growth * static_cast<double>(recorded)));
    };
    const std::string growth =
        range(fmt::format("x{:.2f}", surely), fmt::format("x{:.2f}", perhaps));
    return recorded == 0 ? growth
                         : fmt::format("{} ({})", range(whole(surely), whole(perhaps)), growth);
}

std::string largest_steps_text(const std::vector<LargestStep>& steps) {
    std::string text;
    for (const LargestStep& step : steps)
        text += fmt::format(
            "{}{} {}", text.empty() ? "" : ", ",
            growth_range_text(step.surely, step.perhaps, step.batch),
            step.recorded ? "as recorded" : fmt::format("with {}", printable(step.policy)));
    if (text.empty())
        return {};
    if (const std::int64_t batch = steps.front().batch; batch > 0)
        return fmt::format("Largest batch that fits (recorded: {}): {} (tidemark scale).\n", batch,
                           text);
    return fmt::format("Largest steps that fit, relative to those recorded: {} (tidemark scale).\n",
                       text);
}

namespace report {

Json largest_steps_of(const std::vector<LargestStep>& steps) {
    return list_of(steps, [](const LargestStep& step) -> Json {
        return {{"policy", step.policy},
                {"recorded", step.recorded},
                {"recorded_batch", or_null(step.batch)},
                {"growth_surely", or_null(step.surely, 0.0)},
                {"growth_perhaps", or_null(step.perhaps, 0.0)}};
    });
}

}  // namespace report

}  // namespace tidemark
