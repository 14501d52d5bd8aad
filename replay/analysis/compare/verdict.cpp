// Verdicts: see the header. Each function makes one clause.
#include "replay/analysis/compare/verdict.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/allocator/allocator.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "replay/analysis/spread/worthwhile.h"
#include "replay/metrics/devices.h"

namespace tidemark {
namespace {

constexpr double kVerdictAcceptableDelay = 0.01;  // of the baseline's run

std::uint64_t figure(const Run& run, std::string_view name) {
    return run.measurement(name).whole;
}

Bytes peak(const Run& run) {
    return figure(run, "peak_reserved_bytes");
}

// By how much `part` is below `whole`, as a share of `whole`.
double share_below(Bytes part, Bytes whole) {
    return whole == 0 ? 0
                      : (static_cast<double>(whole) - static_cast<double>(part)) /
                            static_cast<double>(whole);
}

template <class Row>
const Row& baseline_of(std::span<const Row> rows) {
    const auto found = std::ranges::find(rows, true, &Row::baseline);
    TM_CHECK(found != rows.end());
    return *found;
}

// What decides the choice between rows, and between totals.
struct Contender {
    bool refused = false;
    double memory = 0;
    Price price;
};

Contender candidate(const ComparisonRow& row) {
    return {
        times_refused(row.run) > 0,
        static_cast<double>(peak(row.run)),
        {steady_time(row.run), device_time(row.run),
         static_cast<Nanoseconds>(figure(row.run, "makespan_ns") - figure(row.run, "growth_ns"))}};
}

Contender candidate(const ComparisonTotal& total) {
    return {total.traces_refused > 0,
            total.overhead_ratio,
            {total.driver_time + total.stall_time - total.growth_time,
             total.driver_time + total.stall_time, total.makespan - total.growth_time}};
}

template <class Row>
const Row* choose(std::span<const Row> rows, bool timed) {
    if (candidate(rows.front()).refused)
        return nullptr;
    const Contender baseline = candidate(baseline_of(rows));
    if (baseline.refused)
        return &rows.front();  // to run at all is worth any price
    for (const Row& row : rows) {
        const Contender other = candidate(row);
        if (other.refused || other.memory >= baseline.memory)
            break;
        if (affordable(other.price, baseline.price, timed))
            return &row;
    }
    return &baseline_of(rows);
}

// "; the program itself requested 6.6 GiB at most, so no policy can save more than 4.3 % of that".
std::string floor_clause(const Run& best) {
    const Bytes floor = figure(best, "peak_requested_bytes");
    const double left = share_below(floor, peak(best));
    std::string text =
        fmt::format("; the program itself requested {} at most, so ", format_bytes(floor));
    if (left < kWorthwhileSaving)
        return text + "there is almost nothing left to save";
    return text + fmt::format(
                      "{}no policy could save more than another {}",
                      best.summary.retired > 0 ? "with each free as late as in the recording " : "",
                      format_percent(left));
}

// "; cuda-malloc would peak lower (6.5 GiB), but spend 38 s with the device (torch: 57 ms)".
std::string price_clause(const ComparisonRow& lowest, const ComparisonRow& chosen,
                         const ComparisonRow& baseline) {
    if (peak(lowest.run) >= peak(chosen.run))
        return {};
    return fmt::format(
        "; {} would peak lower ({}), but cost {} in device calls and waits, not counting those "
        "that reach the peak ({}: {})",
        lowest.label, format_bytes(peak(lowest.run)), format_duration(steady_time(lowest.run)),
        baseline.label, format_duration(steady_time(baseline.run)));
}

// "; out of memory: bump (12 times), buddy (once)".
std::string refused_clause(std::span<const ComparisonRow> rows, const ComparisonRow* except) {
    std::string list;
    for (const ComparisonRow& row : rows) {
        if (times_refused(row.run) == 0 || &row == except)
            continue;
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", row.label,
                            format_times(times_refused(row.run)));
    }
    return list.empty() ? list : "; out of memory: " + list;
}

std::string all_refused(std::span<const ComparisonRow> rows) {
    const Run& best = rows.front().run;
    Bytes floor = 0;  // of one device: the memory limits each
    for (const DevicePeaks& device : device_peaks(best.measurements))
        floor = std::max(floor, device.is_host ? 0 : device.requested);
    for (const Refusal& refusal : best.refusals)  // what no memory could hold is in no peak
        if (refusal.what.size >= kLargestRequest)
            floor = std::max(floor, refusal.what.size);
    const Bytes card = best.scenario.memory - best.scenario.held();
    const Bytes memory =
        best.limit > 0 && card > 0 ? std::min(best.limit, card) : std::max(best.limit, card);
    std::string text = rows.size() == 1
                           ? fmt::format("{} ran out of memory {}", rows.front().label,
                                         format_times(times_refused(best)))
                           : fmt::format("every policy ran out of memory, {} the fewest times ({})",
                                         rows.front().label, format_times(times_refused(best)));
    if (memory > 0 && floor > memory)
        return text + fmt::format(
                          "; the program requested {} at once, more than the available {}: no "
                          "policy can help",
                          format_bytes(floor), format_bytes(memory));
    if (memory > 0)
        return text + fmt::format("; the program never requested more than {} of {} at once",
                                  format_bytes(floor), format_bytes(memory));
    return text + fmt::format("; the program requested {} at once", format_bytes(floor));
}

// "12 % less [9, 15]": the interval in the same sense.
std::string effect_text(const PairedEffect& paired) {
    const double sense = paired.effect < 0 ? -1 : 1;
    double from = 100 * sense * paired.low;
    double to = 100 * sense * paired.high;
    if (from > to)
        std::swap(from, to);
    const double size = 100 * sense * paired.effect;
    const int digits = size < 10 ? 1 : 0;
    return fmt::format("{:.{}f} % {} [{:.{}f}, {:.{}f}]", size, digits, sense < 0 ? "less" : "more",
                       from, digits, to, digits);
}

std::string time_clause(const PairedTimes& times) {
    if (times.policy == times.baseline)
        return "; it costs the same driver time";
    if (times.baseline <= 0)
        return fmt::format("; it costs {} of driver time", format_duration(times.policy));
    const double change = static_cast<double>(times.policy) / static_cast<double>(times.baseline);
    if (change >= 10)
        return fmt::format("; it costs {:.0f} times the driver time", change);
    const double percent = 100 * std::abs(change - 1);
    return fmt::format("; it costs {:.{}f} % {} driver time", percent, percent < 10 ? 1 : 0,
                       change < 1 ? "less" : "more");
}

// The first half, if no request failed under the baseline.
std::string against_baseline(std::span<const ComparisonRow> rows, const ComparisonRow& chosen,
                             const ComparisonRow& baseline) {
    const Bytes base = peak(baseline.run);
    const std::string base_text = fmt::format("{} ({})", baseline.label, format_bytes(base));
    if (rows.size() == 1)
        return fmt::format("{} would have peaked at {}", baseline.label, format_bytes(base));
    if (peak(chosen.run) == base)
        return fmt::format("nothing here is worth changing: none would have peaked below {}{}",
                           base_text, peak(rows.front().run) < base ? " at a similar cost" : "");
    const double saved = share_below(peak(chosen.run), base);
    if (saved < kWorthwhileSaving)
        return fmt::format(
            "nothing here is worth changing: the best, {}, would have peaked at {}, "
            "less than 1 % below {}",
            chosen.label, format_bytes(peak(chosen.run)), base_text);
    return fmt::format("{} would have peaked at {}, {} below {}", chosen.label,
                       format_bytes(peak(chosen.run)), format_percent(saved), base_text);
}

}  // namespace

Nanoseconds device_time(const Run& run) {
    return static_cast<Nanoseconds>(figure(run, "driver_ns") + figure(run, "stall_ns"));
}

Nanoseconds steady_time(const Run& run) {
    return device_time(run) - static_cast<Nanoseconds>(figure(run, "growth_ns"));
}

std::uint64_t times_refused(const Run& run) {
    return figure(run, "out_of_memory");
}

bool affordable(const Price& price, const Price& baseline, bool timed) {
    const Nanoseconds added = price.steady_time - baseline.steady_time;
    if (added <= 0)
        return true;
    if (!timed)
        return added <= baseline.device_time;
    return static_cast<double>(added) <=
           kVerdictAcceptableDelay * static_cast<double>(baseline.run);
}

const ComparisonRow* recommended(std::span<const ComparisonRow> rows, bool timed) {
    return choose(rows, timed);
}

const ComparisonTotal* recommended(std::span<const ComparisonTotal> totals, bool timed) {
    return choose(totals, timed);
}

std::string verdict(std::span<const ComparisonRow> rows, bool timed) {
    const ComparisonRow* const chosen = recommended(rows, timed);
    if (chosen == nullptr)
        return all_refused(rows);
    const ComparisonRow& baseline = baseline_of(rows);
    if (times_refused(baseline.run) > 0)
        return fmt::format("{} ran out of memory {}; {} did not, and peaked at {}", baseline.label,
                           format_times(times_refused(baseline.run)), chosen->label,
                           format_bytes(peak(chosen->run))) +
               floor_clause(chosen->run) + refused_clause(rows, &baseline);
    return against_baseline(rows, *chosen, baseline) + floor_clause(chosen->run) +
           price_clause(rows.front(), *chosen, baseline) + refused_clause(rows, nullptr);
}

std::string verdict(std::span<const ComparisonTotal> totals, std::size_t traces, bool timed) {
    const ComparisonTotal* const chosen = recommended(totals, timed);
    const ComparisonTotal& lowest = totals.front();
    if (chosen == nullptr)
        return fmt::format("every policy ran out of memory, {} the least often: on {} of {} traces",
                           lowest.label, lowest.traces_refused, traces);
    const ComparisonTotal& baseline = baseline_of(totals);
    if (baseline.traces_refused > 0)
        return fmt::format(
            "{} ran out of memory on {} of {} traces; {} on none, and peaked at "
            "{:.3f} times what the programs requested",
            baseline.label, baseline.traces_refused, traces, chosen->label, chosen->overhead_ratio);
    std::string text;
    if (-chosen->change < kWorthwhileSaving)
        text = fmt::format(
            "nothing here is worth changing: over {} traces {} peaked at {:.3f} "
            "times what the programs requested, and nothing {}lower by 1 % or more",
            traces, baseline.label, baseline.overhead_ratio,
            lowest.change < chosen->change ? "of a similar cost " : "");
    else
        text = fmt::format(
            "over {} traces {} would have peaked {} below {} ({:.3f} and {:.3f} "
            "times what the programs requested)",
            traces, chosen->label, format_percent(-chosen->change), baseline.label,
            chosen->overhead_ratio, baseline.overhead_ratio);
    if (lowest.change < chosen->change)
        text += fmt::format(
            "; {} would peak lower ({:.3f}), but cost {} in device calls and waits, not counting "
            "those that reach the peak ({}: {})",
            lowest.label, lowest.overhead_ratio,
            format_duration(candidate(lowest).price.steady_time), baseline.label,
            format_duration(candidate(baseline).price.steady_time));
    return text;
}

std::string verdict(const PairedEffect& effect, const PairedTimes& times,
                    const PairedNames& names) {
    const std::string on = fmt::format("on these {} traces", effect.traces);
    switch (effect.answer) {
        case PairedAnswer::less:
        case PairedAnswer::more:
            return fmt::format("{} needs {} than {} {}{}", names.policy, effect_text(effect),
                               names.baseline, on, time_clause(times));
        case PairedAnswer::same:
            return fmt::format("{} needs as much as {} {}: {}{}", names.policy, names.baseline, on,
                               effect_text(effect), time_clause(times));
        case PairedAnswer::unclear:
            break;
    }
    std::string text = fmt::format("{} do not say whether {} needs less than {}: {}",
                                   fmt::format("these {} traces", effect.traces), names.policy,
                                   names.baseline, effect_text(effect));
    if (effect.more_traces)
        text += fmt::format("; with about {} more like them they would",
                            format_count(*effect.more_traces));
    return text + time_clause(times);
}

}  // namespace tidemark
