// Adding up, then pairing.
#include "replay/analysis/compare/totals.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "replay/analysis/compare/pareto.h"
#include "replay/analysis/compare/verdict.h"

namespace tidemark {
namespace {

double rounded(double value) {
    return std::round(value * 1e9) / 1e9;  // libraries differ in a logarithm's last digits
}

// What a row adds to its policy's total; means are sums of logarithms until the end.
void add_to_total(ComparisonTotal& total, const ComparisonRow& row) {
    const Run& run = row.run;
    const double overhead = run.measurement("overhead_ratio").real;
    total.overhead_ratio += overhead > 0 ? std::log(overhead) : 0;
    total.out_of_memory += times_refused(run);
    total.traces_refused += times_refused(run) > 0 ? 1U : 0U;
    total.driver_time += static_cast<Nanoseconds>(run.measurement("driver_ns").whole);
    total.stall_time += static_cast<Nanoseconds>(run.measurement("stall_ns").whole);
    total.growth_time += static_cast<Nanoseconds>(run.measurement("growth_ns").whole);
    total.makespan += static_cast<Nanoseconds>(run.measurement("makespan_ns").whole);
}

const ComparisonRow& row_of(const TraceComparison& trace, std::size_t scenario) {
    return *std::ranges::find(trace.rows, scenario, &ComparisonRow::scenario);
}

// The totals in the order of scenarios, the first of which is the baseline. Traces on which
// requests failed under either don't compare: a policy that serves less needs less.
void pair_up(std::span<const TraceComparison> traces, std::vector<ComparisonTotal>& totals) {
    for (std::size_t s = 1; s < totals.size(); ++s) {
        std::vector<double> log_ratios;
        PairedTimes times;
        for (const TraceComparison& trace : traces) {
            const Run& base = row_of(trace, 0).run;
            const Run& run = row_of(trace, s).run;
            const auto before = static_cast<double>(base.measurement("peak_reserved_bytes").whole);
            const auto peak = static_cast<double>(run.measurement("peak_reserved_bytes").whole);
            if (times_refused(base) > 0 || times_refused(run) > 0 || before == 0 || peak == 0)
                continue;
            log_ratios.push_back(std::log(peak / before));
            times.baseline += static_cast<Nanoseconds>(base.measurement("driver_ns").whole);
            times.policy += static_cast<Nanoseconds>(run.measurement("driver_ns").whole);
        }
        if (log_ratios.size() < 2)
            continue;
        totals[s].paired = paired_effect(log_ratios);
        totals[s].paired_verdict =
            verdict(*totals[s].paired, times, {totals[s].label, totals.front().label});
    }
}

void mark_front(std::vector<ComparisonTotal>& totals) {
    std::uint64_t fewest = totals.front().out_of_memory;
    for (const ComparisonTotal& total : totals)
        fewest = std::min(fewest, total.out_of_memory);
    std::vector<MemoryAndTime> points;
    for (const ComparisonTotal& total : totals)
        points.push_back({total.overhead_ratio, total.driver_time, total.out_of_memory == fewest});
    const std::vector<bool> front = pareto_front(points);
    for (std::size_t i = 0; i < totals.size(); ++i)
        totals[i].pareto = front[i];
}

}  // namespace

std::vector<ComparisonTotal> add_up(std::span<const TraceComparison> traces,
                                    std::span<const Scenario> scenarios) {
    std::vector<ComparisonTotal> totals(scenarios.size());
    for (const TraceComparison& trace : traces) {
        for (const ComparisonRow& row : trace.rows)
            add_to_total(totals[row.scenario], row);
    }
    for (const ComparisonRow& row : traces.front().rows) {
        totals[row.scenario].label =
            scenarios[row.scenario].policy.empty() ? "as recorded" : row.label;
        totals[row.scenario].other_allocator = row.other_allocator;
    }
    totals.front().baseline = true;
    const double base = totals.front().overhead_ratio;
    const auto count = static_cast<double>(traces.size());
    for (ComparisonTotal& total : totals) {
        // The program requests the same under every policy: ratios of overheads are ratios of
        // peaks.
        total.change = rounded(std::exp((total.overhead_ratio - base) / count) - 1);
        total.overhead_ratio = rounded(std::exp(total.overhead_ratio / count));
    }
    pair_up(traces, totals);
    mark_front(totals);
    std::ranges::stable_sort(totals, {}, [](const ComparisonTotal& total) {
        return std::tuple(total.traces_refused, total.out_of_memory, total.overhead_ratio,
                          total.driver_time + total.stall_time);
    });
    return totals;
}

}  // namespace tidemark
