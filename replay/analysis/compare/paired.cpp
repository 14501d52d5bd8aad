// Interval, test, and how many more it takes.
#include "replay/analysis/compare/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "replay/analysis/spread/worthwhile.h"

namespace tidemark {
namespace {

constexpr std::size_t kResamples = 10'000;
constexpr std::uint64_t kBootstrapSeed = 1;
constexpr std::size_t kMostExact = 16;
constexpr double kSignificant = 0.05;
constexpr std::size_t kFewestSignificant = 6;  // 2 / 2^6 is the first below 0.05
constexpr std::uint64_t kMostTraces = 10'000;  // nobody will record more than that

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(std::span<const double> values) {
    const double mean = mean_of(values);
    double sum = 0;
    for (const double value : values)
        sum += (value - mean) * (value - mean);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// Logarithms differ in their last digits from library to library.
double ratio_less_one(double log_ratio) {
    return std::round((std::exp(log_ratio) - 1) * 1e9) / 1e9;
}

struct LogInterval {
    double low = 0;
    double high = 0;
};

LogInterval bootstrap(std::span<const double> values) {
    Random random(kBootstrapSeed);
    const auto count = static_cast<double>(values.size());
    const double mean = mean_of(values);
    const double widening = std::sqrt(count / (count - 1));
    std::vector<double> means(kResamples);
    for (double& each : means) {
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            sum += values[random.below(values.size())];
        each = mean + (sum / count - mean) * widening;
    }
    std::ranges::sort(means);
    return {means[kResamples / 40], means[kResamples - 1 - kResamples / 40]};
}

// The share of all exchanges whose mean is as far from nothing as the one that was measured.
double sign_flip_p(std::span<const double> values) {
    double scale = 0;
    for (const double value : values)
        scale += std::abs(value);
    const double measured = std::abs(mean_of(values)) * static_cast<double>(values.size());
    const double least = measured - 1e-12 * scale;  // sums differ in their last digits by order
    const std::size_t exchanges = std::size_t{1} << values.size();
    std::size_t extreme = 0;
    for (std::size_t flips = 0; flips < exchanges; ++flips) {
        double sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
            sum += (flips >> i & 1U) != 0 ? -values[i] : values[i];
        extreme += std::abs(sum) >= least ? 1U : 0U;
    }
    return static_cast<double>(extreme) / static_cast<double>(exchanges);
}

// Wilcoxon's signed ranks: zeros are left out, ties share their mean rank.
double signed_rank_p(std::span<const double> values) {
    std::vector<double> sorted;
    for (const double value : values)
        if (value != 0)
            sorted.push_back(value);
    if (sorted.empty())
        return 1;
    std::ranges::sort(sorted, {}, [](double value) { return std::abs(value); });
    const auto count = static_cast<double>(sorted.size());
    double positive = 0;
    double ties = 0;
    for (std::size_t begin = 0; begin < sorted.size();) {
        std::size_t end = begin;
        while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[begin]))
            ++end;
        const auto alike = static_cast<double>(end - begin);
        const double rank = static_cast<double>(begin + 1 + end) / 2;
        for (std::size_t i = begin; i < end; ++i)
            positive += sorted[i] > 0 ? rank : 0;
        ties += alike * alike * alike - alike;
        begin = end;
    }
    const double expected = count * (count + 1) / 4;
    const double variance = count * (count + 1) * (2 * count + 1) / 24 - ties / 48;
    const double distance = std::max(std::abs(positive - expected) - 0.5, 0.0);
    return std::erfc(distance / std::sqrt(variance) / std::sqrt(2.0));
}

std::optional<std::uint64_t> traces_missing(std::span<const double> values) {
    constexpr double kQuantiles = 1.960 + 0.842;  // 5 % by chance, found in 80 % of cases
    const double mean = std::abs(mean_of(values));
    if (mean == 0)
        return std::nullopt;
    const double wanted = std::ceil(std::pow(kQuantiles * deviation_of(values) / mean, 2));
    const double needed = std::max(wanted, static_cast<double>(kFewestSignificant));
    if (needed > static_cast<double>(kMostTraces))
        return std::nullopt;
    // At least one: these didn't do.
    const auto have = static_cast<double>(values.size());
    return static_cast<std::uint64_t>(std::max(needed - have, 1.0));
}

}  // namespace

std::string_view to_text(PairedAnswer answer) {
    switch (answer) {
        case PairedAnswer::less:
            return "less";
        case PairedAnswer::more:
            return "more";
        case PairedAnswer::same:
            return "same";
        case PairedAnswer::unclear:
            break;
    }
    return "unclear";
}

PairedEffect paired_effect(std::span<const double> log_ratios) {
    TM_CHECK(log_ratios.size() >= 2);
    const LogInterval interval = bootstrap(log_ratios);
    PairedEffect result{.traces = log_ratios.size(),
                        .effect = ratio_less_one(mean_of(log_ratios)),
                        .low = ratio_less_one(interval.low),
                        .high = ratio_less_one(interval.high)};
    result.is_exact = log_ratios.size() <= kMostExact;
    const double p = result.is_exact ? sign_flip_p(log_ratios) : signed_rank_p(log_ratios);
    result.p = std::round(p * 1e9) / 1e9;
    if (result.p < kSignificant && result.high < 0)
        result.answer = PairedAnswer::less;
    else if (result.p < kSignificant && result.low > 0)
        result.answer = PairedAnswer::more;
    else if (result.low > -kWorthwhileSaving && result.high < kWorthwhileSaving)
        result.answer = PairedAnswer::same;
    else
        result.more_traces = traces_missing(log_ratios);
    return result;
}

}  // namespace tidemark
