// ViewLocation as text, and back.
#include "viz/model/navigation/view_location.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/owners.h"

namespace tidemark::viz {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t size;  // in positions
};

// Of those with equal endings the longer one first.
constexpr std::array<Unit, 6> kTimeUnits{{
    {"ns", 1},
    {"us", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
}};
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 62U;
constexpr std::array<std::string_view, 13> kKeys{"t",     "event", "step",   "peak",    "oom",
                                                 "start", "end",   "cursor", "measure", "owners",
                                                 "view",  "run",   "block"};

constexpr std::array<std::pair<std::string_view, ViewLocation::Landmark>, 4> kLandmarks{{
    {"peak", ViewLocation::Landmark::peak},
    {"oom", ViewLocation::Landmark::out_of_memory},
    {"start", ViewLocation::Landmark::start},
    {"end", ViewLocation::Landmark::end},
}};
constexpr std::string_view kExample = "as in t=1.2s..1.4s;cursor=1.25s;view=timeline";

tl::unexpected<Error> location_error(std::string what, std::string hint = std::string(kExample)) {
    return fail(ErrorCode::bad_option, std::move(what), "--goto", std::move(hint));
}

// "12.5" times `unit`, exactly; nullopt if it is not a number, too fine or too large.
std::optional<Position> scaled(std::string_view digits, std::uint64_t unit) {
    const std::size_t point = std::min(digits.find('.'), digits.size());
    const std::string_view whole = digits.substr(0, point);
    const std::string_view rest = point < digits.size() ? digits.substr(point + 1) : "";
    std::uint64_t value = 0;
    const auto read = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    if (whole.empty() || read.ec != std::errc() || read.ptr != whole.data() + whole.size() ||
        value > kFarthest / unit || (point < digits.size() && rest.empty()))
        return std::nullopt;
    std::uint64_t sum = value * unit;
    std::uint64_t digit_unit = unit;
    for (const char digit : rest) {
        if (digit < '0' || digit > '9')
            return std::nullopt;
        if (digit_unit % 10 != 0) {
            // Sixths of minutes and similar end here as well: only zeros may follow.
            if (digit != '0')
                return std::nullopt;
            continue;
        }
        digit_unit /= 10;
        sum += static_cast<std::uint64_t>(digit - '0') * digit_unit;
    }
    if (sum > kFarthest)
        return std::nullopt;
    return static_cast<Position>(sum);
}

std::optional<Position> parse_time(std::string_view text) {
    const auto is_digit = [](char letter) {
        return (letter >= '0' && letter <= '9') || letter == '.';
    };
    const std::size_t end = static_cast<std::size_t>(
        std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
    const std::string_view name = trimmed(text.substr(end));
    for (const Unit& unit : kTimeUnits) {
        if (name == unit.name)
            return scaled(text.substr(0, end), unit.size);
    }
    return std::nullopt;
}

std::optional<Position> parse_event(std::string_view text) {
    if (text.starts_with('#'))
        text.remove_prefix(1);
    return scaled(text, static_cast<std::uint64_t>(kPositionsPerEvent));
}

std::optional<Position> parse_position(AxisUnit unit, std::string_view text) {
    return unit == AxisUnit::time ? parse_time(trimmed(text)) : parse_event(trimmed(text));
}

std::string position_error(AxisUnit unit, std::string_view text) {
    if (unit == AxisUnit::time)
        return fmt::format("'{}' is not a time: give a number with ns, us, ms, s, m or h", text);
    return fmt::format("'{}' is not an event: give a number, with up to three decimals", text);
}

// "1.2s..1.4s", or a moment.
Result<void> read_stretch(ViewLocation& location, AxisUnit unit, std::string_view value) {
    const std::size_t dots = value.find("..");
    const std::string_view first = value.substr(0, dots);
    const auto begin = parse_position(unit, first);
    if (!begin)
        return location_error(position_error(unit, first));
    if (dots == std::string_view::npos) {
        location.moment = AxisPosition{unit, *begin};
        return {};
    }
    const std::string_view last = value.substr(dots + 2);
    const auto end = parse_position(unit, last);
    if (!end)
        return location_error(position_error(unit, last));
    if (*end <= *begin)
        return location_error(fmt::format("'{}' ends before it starts", value));
    location.unit = unit;
    location.window = Window{*begin, *end};
    return {};
}

Result<void> read_cursor(ViewLocation& location, std::string_view value) {
    const AxisUnit unit = value.starts_with('#') ? AxisUnit::events : AxisUnit::time;
    const auto position = parse_position(unit, value);
    if (!position)
        return location_error(position_error(unit, value), "give a time, or #123 for an event");
    location.cursor = AxisPosition{unit, *position};
    return {};
}

Result<void> read_measure(ViewLocation& location, std::string_view value) {
    const std::size_t dots = value.find("..");
    if (dots == std::string_view::npos)
        return location_error(fmt::format("'{}' is not a range", value),
                              "as in measure=1.2s..1.4s or measure=#100..#200");
    const AxisUnit unit = value.starts_with('#') ? AxisUnit::events : AxisUnit::time;
    const std::string_view first = value.substr(0, dots);
    const std::string_view last = value.substr(dots + 2);
    const auto begin = parse_position(unit, first);
    const auto end = parse_position(unit, last);
    if (!begin || !end)
        return location_error(position_error(unit, begin ? last : first));
    if (*end <= *begin)
        return location_error(fmt::format("'{}' ends before it starts", value));
    location.measure = {AxisPosition{unit, *begin}, AxisPosition{unit, *end}};
    return {};
}

Result<void> read_owners(ViewLocation& location, std::string_view value) {
    if (const OwnerChoice* const choice = owner_choice(value)) {
        location.owners = choice->trait;
        return {};
    }
    std::vector<std::string_view> names;
    for (const OwnerChoice& choice : kOwnerChoices)
        names.push_back(choice.word);
    return location_error(fmt::format("owners can't be grouped by '{}'", value),
                          fmt::format("give one of {}", fmt::join(names, ", ")));
}

template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
    Number value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
        return std::nullopt;
    return value;
}

Result<void> read_block(ViewLocation& location, std::string_view value) {
    if (value.starts_with("0x")) {
        if (const auto address = whole_number<std::uint64_t>(value.substr(2), 16)) {
            location.address = Address{*address};
            return {};
        }
    } else if (value.starts_with('#')) {
        const auto number = whole_number<BlockIndex>(value.substr(1));
        if (number && *number != kNoBlock) {
            location.block = *number;
            return {};
        }
    }
    return location_error(fmt::format("'{}' is not a block", value),
                          "block=#81 by its number, block=0x7f00 by an address in it");
}

Result<void> read_step(ViewLocation& location, std::string_view value) {
    location.step = whole_number<std::uint64_t>(value);
    if (!location.step)
        return location_error(fmt::format("'{}' is not a step's number", value), "as in step=12");
    return {};
}

std::optional<ViewLocation::Landmark> landmark_of(std::string_view word) {
    for (const auto& [name, landmark] : kLandmarks)
        if (name == word)
            return landmark;
    return std::nullopt;
}

Result<void> read_word(ViewLocation& location, std::string_view name, std::string_view value) {
    if (name == "t")
        return read_stretch(location, AxisUnit::time, value);
    if (name == "event")
        return read_stretch(location, AxisUnit::events, value);
    if (name == "step")
        return read_step(location, value);
    if (name == "cursor")
        return read_cursor(location, value);
    if (name == "block")
        return read_block(location, value);
    if (name == "measure")
        return read_measure(location, value);
    if (name == "owners")
        return read_owners(location, value);
    if (name == "view") {
        location.view = value;
        return {};
    }
    location.run = whole_number<std::size_t>(value);
    if (!location.run)
        return location_error(fmt::format("'{}' is not a run's number", value),
                              "the first one is run=0");
    return {};
}

// Each word once, and only one that gives a place on the axis.
Result<void> check_word(std::string_view word, std::vector<std::string_view>& seen,
                        bool has_value) {
    if (std::ranges::find(kKeys, word) == kKeys.end()) {
        const std::string_view near = nearest(word, kKeys);
        return location_error(fmt::format("there is no '{}' to go to", word),
                              near.empty() ? fmt::format("give one of {}", fmt::join(kKeys, ", "))
                                           : fmt::format("did you mean {}?", near));
    }
    if (landmark_of(word).has_value() == has_value)
        return location_error(has_value ? fmt::format("'{}' takes no value", word)
                                        : fmt::format("'{}' needs a value", word));
    if (std::ranges::find(seen, word) != seen.end())
        return location_error(fmt::format("'{}' is given twice", word));
    seen.push_back(word);
    return {};
}

Result<void> check_whole(const std::vector<std::string_view>& seen) {
    const auto says_where = [](std::string_view word) {
        return word == "t" || word == "event" || word == "step" || landmark_of(word);
    };
    if (std::ranges::count_if(seen, says_where) > 1)
        return location_error("gives two targets",
                              "give one of t, event, step, peak, oom, start, end");
    return {};
}

// "12.5", the digits behind the point as many as are needed of `digits`.
std::string decimal_text(std::uint64_t value, std::uint64_t unit, std::size_t digits) {
    std::string text = fmt::format("{}", value / unit);
    if (value % unit > 0) {
        text += fmt::format(".{:0{}}", value % unit, digits);
        text.erase(text.find_last_not_of('0') + 1);
    }
    return text;
}

std::string position_word(AxisUnit axis, Position position) {
    const auto value = static_cast<std::uint64_t>(std::max<Position>(position, 0));
    if (axis == AxisUnit::events)
        return decimal_text(value, static_cast<std::uint64_t>(kPositionsPerEvent), 3);
    std::size_t unit = 0;
    while (unit < 3 && value >= kTimeUnits[unit + 1].size)
        ++unit;
    return decimal_text(value, kTimeUnits[unit].size, unit * 3) +
           std::string(kTimeUnits[unit].name);
}

std::string stretch_word(const ViewLocation& location) {
    const auto key = [](AxisUnit unit) { return unit == AxisUnit::time ? "t" : "event"; };
    if (location.window)
        return fmt::format("{}={}..{}", key(location.unit),
                           position_word(location.unit, location.window->begin),
                           position_word(location.unit, location.window->end));
    if (const auto& moment = location.moment)
        return fmt::format("{}={}", key(moment->unit),
                           position_word(moment->unit, moment->position));
    if (location.step)
        return fmt::format("step={}", *location.step);
    for (const auto& [name, landmark] : kLandmarks)
        if (landmark == location.landmark)
            return std::string(name);
    return {};
}

}  // namespace

Result<ViewLocation> parse_location(std::string_view text) {
    ViewLocation location;
    std::vector<std::string_view> seen;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(';', begin), text.size());
        const std::string_view word = trimmed(text.substr(begin, end - begin));
        begin = end + 1;
        if (word.empty())
            continue;
        const std::size_t equals = word.find('=');
        const std::string_view name = trimmed(word.substr(0, equals));
        TM_TRY(check_word(name, seen, equals != std::string_view::npos));
        if (const auto landmark = landmark_of(name))
            location.landmark = *landmark;
        else
            TM_TRY(read_word(location, name, trimmed(word.substr(equals + 1))));
    }
    if (seen.empty())
        return location_error("gives no target");
    TM_TRY(check_whole(seen));
    return location;
}

Result<ViewLocation> parse_target(std::string_view text) {
    text = trimmed(text);
    ViewLocation location;
    if (text.starts_with("0x")) {
        TM_TRY(read_block(location, text));
        return location;
    }
    if (const auto time = parse_time(text)) {
        location.moment = AxisPosition{AxisUnit::time, *time};
        return location;
    }
    if (const auto event = parse_event(text)) {
        location.moment = AxisPosition{AxisUnit::events, *event};
        return location;
    }
    constexpr std::string_view kStep = "step ";
    if (text.starts_with(kStep)) {
        TM_TRY(read_step(location, trimmed(text.substr(kStep.size()))));
        return location;
    }
    return parse_location(text);
}

std::string to_text(const ViewLocation& location) {
    std::vector<std::string> items;
    if (std::string stretch = stretch_word(location); !stretch.empty())
        items.push_back(std::move(stretch));
    if (location.cursor)
        items.push_back(
            fmt::format("cursor={}{}", location.cursor->unit == AxisUnit::time ? "" : "#",
                        position_word(location.cursor->unit, location.cursor->position)));
    if (location.measure) {
        const auto& [begin, end] = *location.measure;
        const std::string_view sign = begin.unit == AxisUnit::time ? "" : "#";
        items.push_back(fmt::format("measure={}{}..{}{}", sign,
                                    position_word(begin.unit, begin.position), sign,
                                    position_word(end.unit, end.position)));
    }
    if (location.owners)
        items.push_back(fmt::format("owners={}", owner_choice(*location.owners).word));
    if (!location.view.empty())
        items.push_back("view=" + location.view);
    if (location.run)
        items.push_back(fmt::format("run={}", *location.run));
    if (location.block)
        items.push_back(fmt::format("block=#{}", *location.block));
    if (location.address)
        items.push_back(fmt::format("block={:#x}", static_cast<std::uint64_t>(*location.address)));
    return fmt::to_string(fmt::join(items, ";"));
}

}  // namespace tidemark::viz
