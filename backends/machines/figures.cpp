// Medians, slopes and residuals.
#include "backends/machines/figures.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr double kShareOfSum = 0.95;  // links that get less of their sum than this are on one bus

}  // namespace

double Figure::spread() const {
    return median > 0 ? (most - least) / median : 0;
}

Figure figure_of(std::vector<double> samples) {
    if (samples.empty())
        return {};
    std::sort(samples.begin(), samples.end());
    const std::size_t middle = samples.size() / 2;
    const double median =
        samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
    return {median, samples.front(), samples.back(), static_cast<unsigned>(samples.size())};
}

std::string spread_text(const Figure& figure) {
    const std::string runs = fmt::format("{} run{}", figure.runs, figure.runs == 1 ? "" : "s");
    if (figure.median == 0 && figure.most > 0)
        return runs + ", most of them 0";
    return fmt::format("{}, spread {:.1f} %", runs, figure.spread() * 100);
}

std::optional<LinkSample> link_sample(const CopyTimes& times) {
    if (times.more <= times.less || times.more_time <= times.less_time)
        return std::nullopt;
    const double ns_per_byte = static_cast<double>(times.more_time - times.less_time) /
                               static_cast<double>(times.more - times.less);
    const double bytes = static_cast<double>(times.small) * ns_per_byte;
    const double overhead = std::max(times.each - bytes, 0.0);
    const double latency = std::max(static_cast<double>(times.single) - bytes - overhead, 0.0);
    return LinkSample{1e9 / ns_per_byte, overhead, latency};
}

double bus_bandwidth(double both, std::span<const double> alone) {
    const double sum = std::accumulate(alone.begin(), alone.end(), 0.0);
    if (both <= 0 || both >= sum * kShareOfSum)
        return 0;
    return std::max(both, *std::max_element(alone.begin(), alone.end()));
}

}  // namespace tidemark
