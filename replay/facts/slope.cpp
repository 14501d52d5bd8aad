// All pairs, and three of their ranks.
#include "replay/facts/slope.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tidemark::facts {
namespace {

constexpr double kTwoSided95 = 1.96;  // standard deviations

}  // namespace

Slope slope_of(std::span<const Sample> samples) {
    std::vector<double> slopes;
    std::int64_t rising = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        for (std::size_t j = i + 1; j < samples.size(); ++j) {
            if (samples[j].at == samples[i].at)
                continue;
            const double rise = samples[j].value - samples[i].value;
            rising += rise > 0 ? 1 : rise < 0 ? -1 : 0;
            slopes.push_back(rise / (samples[j].at - samples[i].at));
        }
    }
    if (slopes.empty())
        return {};
    const auto n = static_cast<double>(samples.size());
    const double reach = kTwoSided95 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
    const auto count = static_cast<double>(slopes.size());
    const auto at = [&](double rank) {
        const auto index = static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1));
        std::ranges::nth_element(slopes, slopes.begin() + static_cast<std::ptrdiff_t>(index));
        return slopes[index];
    };
    const double middle = (at(std::floor((count - 1) / 2)) + at(std::ceil((count - 1) / 2))) / 2;
    // Sen counts from one.
    return {middle, at(std::floor((count - reach) / 2) - 1), at(std::ceil((count + reach) / 2)),
            static_cast<double>(rising) / count};
}

}  // namespace tidemark::facts
