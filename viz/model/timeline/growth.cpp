// Samples of comparable moments, and the line through them.
#include "viz/model/timeline/growth.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark::viz {
namespace {

constexpr Nanoseconds kGrowthSecond = 1'000'000'000;
constexpr Nanoseconds kGrowthMinute = 60 * kGrowthSecond;
constexpr Nanoseconds kShortestLook = 3 * kGrowthSecond;
constexpr std::size_t kWindows = 12;
constexpr std::size_t kLeastSteps = 6;   // whole ones, to go by steps
constexpr std::size_t kMostGroups = 24;  // of steps: more are taken together
constexpr std::size_t kGroupsBefore = 120;
constexpr double kWidestRange = 3;
constexpr Nanoseconds kLongestLeft = 24 * 60 * kGrowthMinute;

// The least value within a stretch of time.
struct Valley {
    Nanoseconds middle = 0;
    SeriesColumn column;
    Nanoseconds length = 1;
};

Valley valley_of(const History& history, Position begin, Position end) {
    SeriesColumn column;
    history.series(AxisUnit::time, begin, std::max(end, begin + 1), {&column, 1});
    return {begin + (end - begin) / 2, column, std::max<Nanoseconds>(end - begin, 1)};
}

// `count` stretches of `length`, the last of which ends at `end`, as many as lie behind `start`.
std::vector<Valley> windows_before(const History& history, Nanoseconds start, Nanoseconds end,
                                   Nanoseconds length, std::size_t count) {
    const auto there = static_cast<std::size_t>(std::max<Nanoseconds>(end - start, 0) / length);
    count = std::min(count, there);
    std::vector<Valley> valleys;
    if (count == 0)
        return valleys;
    std::vector<SeriesColumn> columns(count);
    const Nanoseconds begin = end - static_cast<Nanoseconds>(count) * length;
    history.series(AxisUnit::time, begin, end, columns);
    for (std::size_t i = 0; i < count; ++i)
        valleys.push_back(
            {begin + static_cast<Nanoseconds>(i) * length + length / 2, columns[i], length});
    return valleys;
}

// What is compared, and what was before it.
struct Compared {
    std::vector<Valley> now;
    std::vector<Valley> before;
    std::size_t steps = 0;
    Nanoseconds begin = 0;
};

Compared compare_windows(const History& history, Nanoseconds start, Nanoseconds now) {
    Compared compared;
    const Nanoseconds look = std::min(kGrowthMinute, now - start);
    const Nanoseconds length = look / static_cast<Nanoseconds>(kWindows);
    compared.now = windows_before(history, start, now, length, kWindows);
    compared.begin = now - static_cast<Nanoseconds>(compared.now.size()) * length;
    compared.before = windows_before(history, start, compared.begin, length, kGroupsBefore);
    return compared;
}

// Steps [first, last) that have ended by `now`, those of the last minute but at least kLeastSteps.
struct WholeSteps {
    std::size_t first = 0;
    std::size_t last = 0;

    std::size_t count() const { return last - first; }
};

WholeSteps whole_steps(const History& history, const StepIndex& steps, Nanoseconds now) {
    const std::size_t events = history.counts().events;
    WholeSteps whole;
    whole.last = steps.first_from(AxisUnit::time, now + 1);
    const auto is_over = [&](std::size_t i) {
        const EventIndex end = steps.at(i).end;
        return end < events && history.time(end) <= now;
    };
    while (whole.last > 0 && !is_over(whole.last - 1))
        --whole.last;
    const std::size_t of_minute = steps.first_from(AxisUnit::time, now - kGrowthMinute);
    const std::size_t least = whole.last - std::min(whole.last, kLeastSteps);
    whole.first = std::min(of_minute, least);
    return whole;
}

// Steps [first, first + count) together: the least value in any of them.
Valley valley_of_steps(const History& history, const StepIndex& steps, std::size_t first,
                       std::size_t count) {
    const EventIndex end = steps.at(first + count - 1).end;
    const std::size_t events = history.counts().events;
    return valley_of(history, steps.position(first, AxisUnit::time),
                     end < events ? history.time(end) : history.end(AxisUnit::time));
}

Compared compare_steps(const History& history, const StepIndex& steps, const WholeSteps& whole) {
    Compared compared;
    const std::size_t group = (whole.count() + kMostGroups - 1) / kMostGroups;
    const std::size_t groups = whole.count() / group;
    std::size_t first = whole.last - groups * group;
    compared.begin = steps.position(first, AxisUnit::time);
    for (std::size_t i = 0; i < groups; ++i)
        compared.now.push_back(valley_of_steps(history, steps, first + i * group, group));
    for (std::size_t i = 0; i < kGroupsBefore && first >= group; ++i) {
        first -= group;
        compared.before.push_back(valley_of_steps(history, steps, first, group));
    }
    compared.steps = groups * group;
    return compared;
}

double in_minutes(Nanoseconds time) {
    return static_cast<double>(time) / static_cast<double>(kGrowthMinute);
}

// It is higher than ever before: memory that was held before and freed is not growth.
bool is_new(const Compared& compared, Series series) {
    const Bytes now = compared.now.back().column.min[series];
    return std::ranges::all_of(
        compared.before, [&](const Valley& valley) { return valley.column.min[series] < now; });
}

Growth growth_of_series(const Compared& compared, Series series, bool may_be_certain) {
    std::vector<facts::Sample> samples;
    for (const Valley& valley : compared.now)
        samples.push_back(
            {in_minutes(valley.middle), static_cast<double>(valley.column.min[series])});
    const facts::Slope slope = facts::slope_of(samples);
    return {slope, may_be_certain && slope.least > 0 && is_new(compared, series)};
}

Growth growth_of_rate(const Compared& compared) {
    std::vector<facts::Sample> samples;
    for (const Valley& valley : compared.now)
        samples.push_back(
            {in_minutes(valley.middle),
             static_cast<double>(valley.column.events) * 1e9 / static_cast<double>(valley.length)});
    const facts::Slope slope = facts::slope_of(samples);
    return {slope, slope.least > 0};
}

std::string amount(double value, std::string_view unit) {
    return fmt::format("{:.0f} {}", value, unit);
}

}  // namespace

std::optional<RunGrowth> growth_of(const History& history, const StepIndex& steps,
                                   Nanoseconds now) {
    if (history.counts().events == 0)
        return std::nullopt;
    const Nanoseconds start = history.time(0);
    if (now - start < kShortestLook)
        return std::nullopt;
    const WholeSteps whole = whole_steps(history, steps, now);
    const bool by_steps = whole.count() >= kLeastSteps;
    const Compared compared =
        by_steps ? compare_steps(history, steps, whole) : compare_windows(history, start, now);
    // A program that marks its steps, but not six of them yet, may just be in the middle of one.
    const bool may_be_certain = by_steps || steps.size() == 0;
    RunGrowth growth;
    for (std::size_t i = 0; i < kSeriesCount; ++i)
        growth.series[i] = growth_of_series(compared, static_cast<Series>(i), may_be_certain);
    growth.events_per_second = growth_of_rate(compared);
    growth.steps = compared.steps;
    growth.length = now - compared.begin;
    growth.since_start =
        compared.before.empty() &&
        (by_steps ? whole.first == 0 : growth.length < kGrowthMinute - kGrowthSecond);
    return growth;
}

std::string basis_text(const RunGrowth& growth) {
    if (growth.steps > 0)
        return fmt::format("over {}, {}", format_counted(growth.steps, "step"),
                           format_duration(growth.length));
    if (growth.since_start)
        return "since the start, " + format_duration(growth.length);
    return "in the last minute";
}

std::optional<TimeLeft> time_left(const Growth& growth, Bytes free) {
    if (!growth.certain || growth.per_minute.most > kWidestRange * growth.per_minute.least)
        return std::nullopt;
    const auto until = [free](double rate) {
        return static_cast<double>(free) / rate * static_cast<double>(kGrowthMinute);
    };
    const double most = until(growth.per_minute.least);
    if (!(most < static_cast<double>(kLongestLeft)))
        return std::nullopt;
    return TimeLeft{static_cast<Nanoseconds>(until(growth.per_minute.most)),
                    static_cast<Nanoseconds>(most)};
}

std::string to_text(const TimeLeft& left) {
    struct Unit {
        Nanoseconds size;
        Nanoseconds below;  // the longest time that is given in it
        std::string_view name;
    };

    constexpr std::array<Unit, 3> kUnits{{{kGrowthSecond, 2 * kGrowthMinute, "s"},
                                          {kGrowthMinute, 120 * kGrowthMinute, "min"},
                                          {60 * kGrowthMinute, kLongestLeft, "h"}}};
    const Unit& unit = *std::ranges::find_if(kUnits, [&](const Unit& each) {
        return left.most < each.below || each.below == kLongestLeft;
    });
    const double least =
        std::round(static_cast<double>(left.least) / static_cast<double>(unit.size));
    const double most = std::round(static_cast<double>(left.most) / static_cast<double>(unit.size));
    if (least == most)
        return "in about " + amount(std::max(least, 1.0), unit.name);
    return fmt::format("in {:.0f} to {}", least, amount(most, unit.name));
}

}  // namespace tidemark::viz
