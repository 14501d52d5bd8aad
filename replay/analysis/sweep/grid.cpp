// Options with their values first, then all combinations.
#include "replay/analysis/sweep/grid.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr std::size_t kMostRangeValues = 1000;

struct GridAxis {
    std::string option;  // "max_split_size_mb="
    std::vector<std::string> values;
};

tl::unexpected<Error> bad_range(std::string_view text, std::string_view what) {
    return fail(ErrorCode::bad_option, fmt::format("the range '{}' {}", text, what), "--grid",
                "write one such as 64..512*2, 0.2..0.8+0.2 or 64MiB..1GiB*2");
}

// "64MiB": its number, and its unit.
struct RangeEnd {
    double number = 0;
    std::string_view unit;
};

Result<RangeEnd> parse_end(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789.-"), text.size());
    TM_ASSIGN(const double number, parse_real(text.substr(0, digits)));
    return RangeEnd{number, text.substr(digits)};
}

// The last value in the first one's unit.
Result<double> last_of(const RangeEnd& first, const RangeEnd& last, std::string_view text) {
    if (first.unit == last.unit || last.unit.empty())
        return last.number;
    const Result<Bytes> one = parse_bytes(fmt::format("1{}", first.unit));
    const Result<Bytes> end = parse_bytes(fmt::format("{}{}", last.number, last.unit));
    if (!one || !end)
        return bad_range(text, "has two units");
    return static_cast<double>(*end) / static_cast<double>(*one);
}

// The values of "64..512*2"; `text` itself if it is not a range.
Result<std::vector<std::string>> range_values(std::string_view text) {
    const std::size_t dots = text.find("..");
    const std::size_t step_at = text.find_first_of("*+", dots == std::string_view::npos ? 0 : dots);
    if (dots == std::string_view::npos || step_at == std::string_view::npos)
        return std::vector<std::string>{std::string(text)};
    const Result<RangeEnd> first = parse_end(text.substr(0, dots));
    const Result<RangeEnd> end = parse_end(text.substr(dots + 2, step_at - dots - 2));
    const Result<RangeEnd> step = parse_end(text.substr(step_at + 1));
    if (!first || !end || !step || !step->unit.empty())
        return bad_range(text, "does not consist of numbers");
    TM_ASSIGN(const double last, last_of(*first, *end, text));
    const bool factor = text[step_at] == '*';
    if (factor ? step->number <= 1 || first->number <= 0 : step->number <= 0)
        return bad_range(text, "never ends");
    std::vector<std::string> values;
    double value = first->number;
    for (std::size_t i = 1; value <= last * (1 + 1e-9); ++i) {
        if (values.size() == kMostRangeValues)
            return bad_range(text, fmt::format("has more than {} values", kMostRangeValues));
        values.push_back(fmt::format("{:.12g}{}", value, first->unit));
        value =
            factor ? value * step->number : first->number + static_cast<double>(i) * step->number;
    }
    if (values.empty())
        return bad_range(text, "has no value");
    return values;
}

// The pieces between commas that are in no brackets.
std::vector<std::string_view> pieces_of(std::string_view text) {
    std::vector<std::string_view> pieces;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] != ',') {
            depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
            continue;
        }
        if (i < text.size() && depth > 0)
            continue;
        pieces.push_back(text.substr(begin, i - begin));
        begin = i + 1;
    }
    return pieces;
}

Result<std::vector<GridAxis>> axes_of(std::string_view options) {
    std::vector<GridAxis> axes;
    for (const std::string_view piece : pieces_of(options)) {
        const std::size_t equals = piece.find('=');
        if (equals != std::string_view::npos)
            axes.push_back({std::string(piece.substr(0, equals + 1)), {}});
        if (axes.empty())
            return fail(ErrorCode::bad_option,
                        fmt::format("'{}' is a value without an option", piece), "--grid",
                        "write POLICY:option=value,value,option=value");
        const std::string_view value =
            equals == std::string_view::npos ? piece : piece.substr(equals + 1);
        TM_ASSIGN(const std::vector<std::string> values, range_values(value));
        axes.back().values.insert(axes.back().values.end(), values.begin(), values.end());
    }
    return axes;
}

}  // namespace

Result<std::vector<std::string>> expand_grid(std::string_view text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, colon);
    std::vector<GridAxis> axes;
    if (colon < text.size()) {
        TM_ASSIGN(axes, axes_of(text.substr(colon + 1)));
    }
    std::size_t combinations = 1;
    for (const GridAxis& axis : axes) {
        combinations *= axis.values.size();
        if (combinations > kMostSettings)
            return fail(ErrorCode::bad_option,
                        fmt::format("has more than {} settings", format_count(kMostSettings)),
                        "--grid", "leave out values, or pass several smaller grids");
    }
    std::vector<std::string> settings;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < combinations; ++i) {
        std::string options;
        std::size_t rest = i;
        for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
            options =
                fmt::format("{}{}{}{}", axis->option, axis->values[rest % axis->values.size()],
                            options.empty() ? "" : ",", options);
            rest /= axis->values.size();
        }
        TM_ASSIGN(const PolicySpec spec,
                  parse_policy(options.empty() ? std::string(name)
                                               : fmt::format("{}:{}", name, options)));
        if (seen.insert(spec.text()).second)
            settings.push_back(spec.text());
    }
    return settings;
}

std::vector<std::string> draw_settings(std::span<const std::string> settings, std::size_t count,
                                       std::uint64_t seed) {
    std::vector<std::size_t> order(settings.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    count = std::min(count, order.size());
    Random random(seed);
    for (std::size_t i = 0; i < count; ++i)
        std::swap(order[i], order[i + random.below(order.size() - i)]);
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::string> drawn;
    for (std::size_t i = 0; i < count; ++i)
        drawn.push_back(settings[order[i]]);
    return drawn;
}

}  // namespace tidemark
