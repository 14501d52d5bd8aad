// Rounding, segment sizes and limits, as the specification words them.
#include "tests/model/slow_settings.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace tidemark::model {
namespace {

unsigned floor_log2(Bytes size) {
    unsigned result = 0;
    while (size > 1) {
        size /= 2;
        ++result;
    }
    return result;
}

Bytes next_multiple(Bytes size, Bytes unit) {
    return (size + unit - 1) / unit * unit;
}

Bytes power_of_two_division(Bytes size, Bytes divisions) {
    const Bytes floor = Bytes{1} << floor_log2(size);
    if (size == floor)
        return size;
    const Bytes unit = floor >> floor_log2(divisions);
    return unit == 0 ? 2 * floor : next_multiple(size, unit);
}

}  // namespace

Bytes SlowSettings::round_size(Bytes size) const {
    if (size < kMinBlock)
        return kMinBlock;
    const int interval = std::clamp(static_cast<int>(floor_log2(size)) - 20, 0, 15);
    const Bytes division = divisions[static_cast<std::size_t>(interval)];
    if (division > 1 && size > kMinBlock * division)
        return power_of_two_division(size, division);
    return next_multiple(size, kMinBlock);
}

Bytes SlowSettings::segment_size(Bytes rounded) const {
    if (rounded <= kSmallMax)
        return kSmallSegment;
    if (rounded < kMinLarge)
        return large_segment;
    return next_multiple(rounded, kRoundLarge);
}

std::optional<Bytes> SlowSettings::limit_on(Bytes total) const {
    std::optional<Bytes> result;
    if (limit != 0)
        result = limit;
    if (fraction && (*fraction < 1 || version < 209)) {
        const auto part = static_cast<Bytes>(std::floor(*fraction * static_cast<double>(total)));
        result = std::min(result.value_or(part), part);
    }
    return result;
}

std::array<Bytes, 16> parse_divisions(std::string_view text) {
    std::array<Bytes, 16> table{};
    if (text.front() != '[') {
        table.fill(*parse_count(text));
        return table;
    }
    std::size_t last = table.size();  // the index of the key before
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
        const std::string_view pair = text.substr(0, text.find(','));
        text.remove_prefix(std::min(pair.size() + 1, text.size()));
        const std::size_t colon = pair.find(':');
        const Bytes value = *parse_count(pair.substr(colon + 1));
        if (pair.front() == '>') {
            std::fill(table.begin() + static_cast<std::ptrdiff_t>(last) + 1, table.end(), value);
            continue;
        }
        const std::size_t index =
            std::min<std::size_t>(floor_log2(*parse_count(pair.substr(0, colon))), 15);
        if (last == table.size())  // the first key serves what is below it too
            std::fill_n(table.begin(), index, value);
        table[index] = value;
        last = index;
    }
    return table;
}

Bytes reservation_size(Bytes total, Bytes page) {
    return next_multiple(total + total / 8, page);
}

}  // namespace tidemark::model
