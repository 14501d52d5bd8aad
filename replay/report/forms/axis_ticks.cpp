// Ticks: see the header.
#include "replay/report/forms/axis_ticks.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr Position kMicrosecond = 1'000;
constexpr Position kMillisecond = 1'000'000;
constexpr Position kSecond = 1'000'000'000;
constexpr Position kMinute = 60 * kSecond;
constexpr Position kHour = 60 * kMinute;

// With more digits than this after the point, a label is its distance from the first one.
constexpr int kMostDecimals = 6;

struct Step {
    Position coarse;
    Position fine;  // divides `coarse`
};

// Steps of clocks, beyond the decimal steps.
constexpr std::array<Step, 11> kClockSteps{{
    {kMinute, 10 * kSecond},
    {2 * kMinute, 30 * kSecond},
    {5 * kMinute, kMinute},
    {10 * kMinute, 2 * kMinute},
    {30 * kMinute, 10 * kMinute},
    {kHour, 10 * kMinute},
    {2 * kHour, 30 * kMinute},
    {6 * kHour, kHour},
    {12 * kHour, 2 * kHour},
    {24 * kHour, 6 * kHour},
    {48 * kHour, 12 * kHour},
}};

// The smallest step of 1, 2 or 5 times a power of ten (times `unit`) of which `length` holds at
// most `most`.
Step decimal_step(Position length, std::size_t most, Position unit) {
    const auto fits = [length, most](Position step) {
        return length / step <= static_cast<Position>(most);
    };
    constexpr Position kLargest = Position{1} << 58U;
    for (Position ten = unit; ten < kLargest; ten *= 10) {
        if (fits(ten))
            return {ten, std::max<Position>(ten / 5, 1)};
        if (fits(2 * ten))
            return {2 * ten, ten / 2 > 0 ? ten / 2 : ten};
        if (fits(5 * ten))
            return {5 * ten, ten};
    }
    return {Position{5} << 60U, Position{1} << 60U};
}

Step time_step(Position length, std::size_t most) {
    const Step step = decimal_step(length, most, 1);
    if (step.coarse <= 20 * kSecond)
        return step;
    if (length / (30 * kSecond) <= static_cast<Position>(most))
        return {30 * kSecond, 10 * kSecond};
    for (const Step& clock : kClockSteps) {
        if (length / clock.coarse <= static_cast<Position>(most))
            return clock;
    }
    return decimal_step(length, most, 24 * kHour);
}

// The unit that a time is named in: of a second, or below.
struct TimeUnit {
    Position size;
    std::string_view name;
    int digits;  // decimals down to the nanosecond
};

TimeUnit time_unit(Position largest) {
    if (largest < kMicrosecond)
        return {1, "ns", 0};
    if (largest < kMillisecond)
        return {kMicrosecond, "us", 3};
    if (largest < kSecond)
        return {kMillisecond, "ms", 6};
    return {kSecond, "s", 9};
}

// The decimals of `unit` that express a multiple of `step` exactly.
int decimals_of(const TimeUnit& unit, Position step) {
    int decimals = 0;
    Position size = unit.size;
    while (decimals < unit.digits && step % size != 0) {
        size /= 10;
        ++decimals;
    }
    return decimals;
}

// `value` in `unit` with exactly this many decimals; the rest is cut off.
std::string decimal_text(Position value, const TimeUnit& unit, int decimals) {
    const bool negative = value < 0;
    const auto magnitude =
        negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const auto size = static_cast<std::uint64_t>(unit.size);
    std::string text = fmt::format("{}{}", negative ? "-" : "", magnitude / size);
    if (decimals > 0) {
        const std::string rest = fmt::format("{:0{}}", magnitude % size, unit.digits);
        text += '.' + rest.substr(0, static_cast<std::size_t>(decimals));
    }
    return text;
}

// Removes trailing zeros after the point, and a trailing point.
void trim_zeros(std::string& number) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.')
        number.pop_back();
}

// "2m 05s", "1h 05m", "3d 06h": whole seconds and above, leaving out what `step` never changes.
std::string clock_text(Position value, Position step) {
    const Position seconds = value / kSecond;
    const Position minutes = seconds / 60;
    const Position hours = minutes / 60;
    const Position days = hours / 24;
    const bool has_seconds = step % kMinute != 0;
    const bool has_minutes = step % kHour != 0;
    if (minutes == 0 && has_seconds)
        return fmt::format("{}s", seconds);
    if (hours == 0 && has_minutes)
        return has_seconds ? fmt::format("{}m {:02}s", minutes, seconds % 60)
                           : fmt::format("{}m", minutes);
    std::string text =
        days == 0 ? fmt::format("{}h", hours) : fmt::format("{}d {:02}h", days, hours % 24);
    if (has_minutes || has_seconds)
        text += fmt::format(" {:02}m", minutes % 60);
    if (has_seconds)
        text += fmt::format(" {:02}s", seconds % 60);
    return text;
}

// Whether labels are clock times: from two minutes on, if the step is in whole seconds.
bool is_clock(Position largest, Position step) {
    return largest >= 2 * kMinute && step % kSecond == 0;
}

std::string time_label(Position value, Position largest, Position step) {
    if (value == 0)
        return "0";
    if (is_clock(largest, step))
        return clock_text(value, step);
    const TimeUnit unit = time_unit(largest);
    return fmt::format("{} {}", decimal_text(value, unit, decimals_of(unit, step)), unit.name);
}

// Multiples of `step` within the window.
std::vector<Position> multiples(const Window& window, Position step) {
    std::vector<Position> positions;
    // A run may end where positions do.
    const auto further = [step](Position at) {
        return at > std::numeric_limits<Position>::max() - step
                   ? std::numeric_limits<Position>::max()
                   : at + step;
    };
    Position at = window.begin / step * step;
    if (at < window.begin)
        at = further(at);
    for (; at < window.end; at = further(at))
        positions.push_back(at);
    return positions;
}

void label_times(AxisTicks& axis, const std::vector<Position>& positions, const Window& window,
                 Position step) {
    const Position largest = std::max(window.end - 1, -window.begin);
    const bool is_far = !is_clock(largest, step) &&
                        decimals_of(time_unit(largest), step) > kMostDecimals && !positions.empty();
    const Position base = is_far ? positions.front() : 0;
    if (is_far)
        axis.base = position_text(AxisUnit::time, base);
    for (const Position at : positions) {
        std::string label = time_label(at - base, is_far ? window.length() - 1 : largest, step);
        axis.ticks.push_back({at, is_far ? "+" + label : label});
    }
}

std::string event_label(Position position) {
    const Position event = position / kPositionsPerEvent;
    return fmt::format("#{}", format_count(static_cast<std::uint64_t>(event)));
}

}  // namespace

AxisTicks time_ticks(AxisUnit unit, const Window& window, std::size_t most) {
    AxisTicks axis;
    most = std::max<std::size_t>(most, 1);
    const Step step = unit == AxisUnit::time
                          ? time_step(window.length(), most)
                          : decimal_step(window.length(), most, kPositionsPerEvent);
    const std::vector<Position> positions = multiples(window, step.coarse);
    if (unit == AxisUnit::time) {
        label_times(axis, positions, window, step.coarse);
    } else {
        for (const Position at : positions)
            axis.ticks.push_back({at, event_label(at)});
    }
    for (const Position at : multiples(window, step.fine)) {
        if (at % step.coarse != 0)
            axis.fine.push_back(at);
    }
    return axis;
}

std::vector<ByteTick> byte_ticks(Bytes begin, Bytes end, std::size_t most) {
    static constexpr std::array<std::string_view, 7> kUnits{"B",   "KiB", "MiB", "GiB",
                                                            "TiB", "PiB", "EiB"};
    most = std::max<std::size_t>(most, 1);
    unsigned shift = 0;
    while (shift < 63 && ((end - std::min(begin, end)) >> shift) > most)
        ++shift;
    const Bytes step = Bytes{1} << shift;
    // The largest unit that has a step with at most three decimals and `end` with a digit before
    // the point.
    std::size_t unit = 0;
    while (unit + 1 < kUnits.size() && (unit + 1) * 10 <= shift + 3 &&
           (end >> ((unit + 1) * 10)) > 0)
        ++unit;
    const auto unit_shift = static_cast<unsigned>(unit * 10);
    const unsigned decimals = unit_shift > shift ? unit_shift - shift : 0;
    std::vector<ByteTick> ticks;
    Bytes at = begin & ~(step - 1);
    if (at < begin)
        at += step;
    for (; at >= begin && at <= end; at += step) {
        const double value = static_cast<double>(at >> unit_shift) +
                             static_cast<double>(at & ((Bytes{1} << unit_shift) - 1)) /
                                 static_cast<double>(Bytes{1} << unit_shift);
        std::string number = fmt::format("{:.{}f}", value, decimals);
        if (decimals > 0)
            trim_zeros(number);
        ticks.push_back({at, at == 0 ? "0" : fmt::format("{} {}", number, kUnits[unit])});
        if (at + step < at)
            break;
    }
    return ticks;
}

std::string position_text(AxisUnit unit, Position position, Position resolution) {
    if (unit == AxisUnit::events) {
        const auto event = static_cast<std::uint64_t>(std::max<Position>(position, 0));
        return fmt::format("event {}", format_count(event / kPositionsPerEvent));
    }
    if (position == 0)
        return "0 s";
    const Position magnitude = position < 0 ? -position : position;
    const TimeUnit named = time_unit(magnitude);
    int decimals = named.digits;
    Position size = 1;
    while (decimals > 0 && size * 10 <= resolution) {
        size *= 10;
        --decimals;
    }
    if (magnitude >= 2 * kMinute) {
        const Position whole = magnitude / kSecond * kSecond;
        std::string text = (position < 0 ? "-" : "") + clock_text(whole, kSecond);
        const std::string rest = decimal_text(magnitude % kSecond, named, decimals);
        text.pop_back();  // the "s"
        return text + rest.substr(1) + "s";
    }
    std::string text = decimal_text(position, named, decimals);
    if (decimals > 0)
        trim_zeros(text);
    return fmt::format("{} {}", text, named.name);
}

std::string length_text(AxisUnit unit, Position length) {
    if (unit == AxisUnit::time)
        return format_duration(length);
    return format_counted(
        static_cast<std::uint64_t>(std::max<Position>(length, 0) / kPositionsPerEvent), "event");
}

}  // namespace tidemark
