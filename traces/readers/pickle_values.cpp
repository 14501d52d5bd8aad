// The stores behind Value.
#include "traces/readers/pickle_values.h"

#include <charconv>
#include <cmath>

namespace tidemark {
namespace {

constexpr std::uint64_t kItemsMax = 0xffffffffU;
constexpr std::uint64_t kBoxesMax = std::uint64_t{1} << 28U;  // what fits next to a kind in 32 bits

// "512", "0x7fd73a000000".
bool parse_whole_number(std::string_view text, std::uint64_t& number) {
    const bool is_hex = text.starts_with("0x");
    text.remove_prefix(is_hex ? 2 : 0);
    const auto [end, code] =
        std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
    return code == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::uint32_t ListStore::pack_boxed(Value value) {
    if (boxes_.size() >= kBoxesMax) {
        overflown_ = true;
        return 0;
    }
    boxes_.push_back(value);
    return static_cast<std::uint32_t>(Value(Value::Kind::boxed, boxes_.size() - 1).bits());
}

void ListStore::append(std::uint32_t list, std::span<const Value> values) {
    if (values.empty())
        return;
    if (items_.size() + values.size() + 2 > kItemsMax) {
        overflown_ = true;
        return;
    }
    List& target = lists_[list];
    const auto count = static_cast<std::uint32_t>(values.size());
    const bool extends =
        target.count != 0 &&
        target.last + 2U + std::uint64_t{items_[target.last + 1U]} == items_.size();
    if (extends) {
        items_[target.last + 1U] += count;
    } else {
        const auto piece = static_cast<std::uint32_t>(items_.size());
        items_.push_back(0);
        items_.push_back(count);
        if (target.count == 0)
            target.first = piece;
        else
            items_[target.last] = piece;
        target.last = piece;
    }
    target.count += count;
    for (const Value value : values)
        items_.push_back(pack(value));
}

bool PickleObjects::other_whole_number(Value value, std::uint64_t& number) const {
    if (value.is(Value::Kind::wide)) {
        number = wides[value.index()].magnitude;
        return !wides[value.index()].negative;
    }
    if (value.is(Value::Kind::string))
        return parse_whole_number(text(value), number);
    if (value.is(Value::Kind::real)) {
        constexpr double kExactBelow = 9007199254740992.0;  // 2^53
        const double real = reals[value.index()];
        const bool is_whole = real >= 0 && real <= kExactBelow && std::floor(real) == real;
        number = is_whole ? static_cast<std::uint64_t>(real) : 0;
        return is_whole;
    }
    number = value.payload();
    return value.is(Value::Kind::boolean);
}

}  // namespace tidemark
