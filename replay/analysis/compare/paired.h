// Paired: does one policy need less than another, judged by what both needed on the same traces?
//
// Each trace gives one figure, the logarithm of the ratio of the two peaks. The effect is their
// mean, as a ratio: the geometric mean. Its interval is a bootstrap over the traces (B. Efron,
// "Bootstrap methods: another look at the jackknife", 1979): percentiles of 10,000 seeded
// resamples, whose deviations are widened by sqrt(n / (n - 1)), because few traces differ less from
// their own mean than from the true one. The test assumes no distribution: with up to 16 traces all
// 2^n ways to exchange the policies within pairs are counted (R. A. Fisher's exact randomisation),
// with more Wilcoxon's signed ranks in their normal approximation, ties and continuity corrected.
//
// Whether the traces are a representative sample is for the user to judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tidemark {

enum class PairedAnswer : std::uint8_t {
    less,     // than the other, beyond chance
    more,     // the same
    same,     // the whole interval is within 1 %, which is no reason to change anything
    unclear,  // these traces don't say
};

std::string_view to_text(PairedAnswer answer);

struct PairedEffect {
    std::size_t traces = 0;
    double effect = 0;  // 0.041 = 4.1 % more
    double low = 0;     // of its 95 % interval
    double high = 0;
    double p = 1;          // two-sided
    bool is_exact = true;  // all exchanges were counted; else signed ranks
    PairedAnswer answer = PairedAnswer::unclear;
    // If it is unclear: with this many more traces like these, the answer would be clear in four of
    // five cases (normal approximation). None: no number would be enough, as far as these show.
    std::optional<std::uint64_t> more_traces = {};
};

// `log_ratios` has at least two (TM_CHECK), one a trace. Deterministic; O(10,000 traces), and
// O(2^traces) up to 16.
PairedEffect paired_effect(std::span<const double> log_ratios);

}  // namespace tidemark
