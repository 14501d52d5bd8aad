// Titles first, then numbers.
#include "core/capture/packing_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "core/base/small_file.h"
#include "core/base/text.h"
#include "core/base/units.h"

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 5> kTitles{"id", "lower", "upper", "size", "offset"};

std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    for (std::size_t at = 0; at <= line.size();) {
        const std::size_t comma = std::min(line.find(',', at), line.size());
        cells.push_back(trimmed(line.substr(at, comma - at)));
        at = comma + 1;
    }
    return cells;
}

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return trimmed(line);
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

std::optional<std::size_t> column(std::span<const std::string_view> titles, std::string_view name) {
    const auto found = std::find(titles.begin(), titles.end(), name);
    if (found == titles.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - titles.begin());
}

}  // namespace

bool is_packing_csv(std::string_view begin) {
    const std::vector<std::string_view> titles = cells_of(take_line(begin));
    return column(titles, "lower") && column(titles, "upper") && column(titles, "size");
}

Result<NamedIntervals> read_packing_csv(std::string_view text, const std::string& name) {
    const std::vector<std::string_view> titles = cells_of(take_line(text));
    for (const std::string_view title : titles)
        if (std::find(kTitles.begin(), kTitles.end(), title) == kTitles.end())
            return fail(ErrorCode::bad_input, fmt::format("unknown column '{}'", title), name,
                        "id, lower, upper, size");
    const std::optional<std::size_t> id = column(titles, "id");
    const std::optional<std::size_t> lower = column(titles, "lower");
    const std::optional<std::size_t> upper = column(titles, "upper");
    const std::optional<std::size_t> size = column(titles, "size");
    const std::optional<std::size_t> offset = column(titles, "offset");
    if (!lower || !upper || !size)
        return fail(ErrorCode::bad_input, "no header row", name, "id,lower,upper,size");
    NamedIntervals read;
    for (std::size_t row = 2; !text.empty(); ++row) {
        const std::string_view line = take_line(text);
        if (line.empty())
            continue;
        const std::string where = fmt::format("{}:{}", name, row);
        const std::vector<std::string_view> cells = cells_of(line);
        Interval interval;
        if (cells.size() != titles.size() || !read_number(cells[*lower], interval.begin) ||
            !read_number(cells[*upper], interval.end) || !read_number(cells[*size], interval.size))
            return fail(ErrorCode::bad_input, "differs from the header row", where);
        if (interval.end <= interval.begin)
            return fail(ErrorCode::bad_input, "it ends before it begins", where);
        if (Bytes at = 0; offset) {
            if (!read_number(cells[*offset], at))
                return fail(ErrorCode::bad_input, "its offset is not a number", where);
            read.offsets.push_back(at);
        }
        read.ids.emplace_back(id ? std::string(cells[*id]) : std::to_string(row - 2));
        read.intervals.push_back(interval);
    }
    return read;
}

Result<NamedIntervals> read_packing_file(const std::string& path) {
    constexpr std::size_t kLargest = 4_GiB;
    TM_ASSIGN(const std::string text, read_small_file(path, kLargest).map_error([](Error error) {
        if (error.code == ErrorCode::not_found) {
            error.what = "there is no such file";
            error.hint = "`tidemark bound TRACE -o FILE` writes one";
        }
        return error;
    }));
    return read_packing_csv(text, path);
}

std::string packing_csv(std::span<const std::string> ids, std::span<const Interval> intervals,
                        std::span<const Bytes> offsets) {
    std::string text = "id,lower,upper,size,offset\n";
    for (std::size_t i = 0; i < intervals.size(); ++i)
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", ids[i], intervals[i].begin,
                       intervals[i].end, intervals[i].size, offsets[i]);
    return text;
}

}  // namespace tidemark
