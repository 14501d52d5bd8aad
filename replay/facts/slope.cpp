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
    slopes.reserve(samples.size() * (samples.size() - 1) / 2);
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
        return slopes.begin() + static_cast<std::ptrdiff_t>(std::clamp(rank, 0.0, count - 1));
    };
    // The median separates the lower from the upper half: each end of the interval is searched in
    // its half.
    const auto half = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
    std::nth_element(slopes.begin(), half, slopes.end());
    const double below = slopes.size() % 2 == 1 ? *half : *std::max_element(slopes.begin(), half);
    const double middle = (below + *half) / 2;
    const auto least = at(std::floor((count - reach) / 2) - 1);  // Sen counts from one
    const auto most = at(std::ceil((count + reach) / 2));
    std::nth_element(slopes.begin(), least, half + 1);
    std::nth_element(half, most, slopes.end());
    return {middle, *least, *most, static_cast<double>(rising) / count};
}

}  // namespace tidemark::facts
