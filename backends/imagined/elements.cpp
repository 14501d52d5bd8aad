// Types by name and number; operations one by one.
#include "backends/imagined/elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tidemark::imagined {
namespace {

struct Named {
    std::string_view name;
    Element type;
    int scalar_type;  // c10::ScalarType
};

constexpr std::array kTypes{
    Named{"bool", Element::boolean, 11},    Named{"signed char", Element::i8, 1},
    Named{"unsigned char", Element::u8, 0}, Named{"short", Element::i16, 2},
    Named{"int", Element::i32, 3},          Named{"long", Element::i64, 4},
    Named{"float", Element::f32, 6},        Named{"double", Element::f64, 7}};

template <class T>
Number as_number(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<Number>(value);
}

template <class T>
void put(Number number, std::byte* at) {
    const T value = static_cast<T>(number);
    std::memcpy(at, &value, sizeof value);
}

// Integers wrap as on the GPU.
std::int64_t to_integer(Number number) {
    constexpr Number kEnd = 9223372036854775808.0L;
    if (!std::isfinite(number))
        return 0;
    if (number >= -kEnd && number < kEnd)
        return static_cast<std::int64_t>(number);
    Number rest = std::fmod(number, 2 * kEnd);
    if (rest < 0)
        rest += 2 * kEnd;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(rest));
}

// OpType of PyTorch's comparisons; anything else is "less".
constexpr int kGreaterEqual = 0, kGreater = 1, kLessEqual = 2;

Number ordered(int code, Number a, Number b) {
    switch (code) {
        case kGreaterEqual:
            return a >= b ? 1 : 0;
        case kGreater:
            return a > b ? 1 : 0;
        case kLessEqual:
            return a <= b ? 1 : 0;
        default:
            return a < b ? 1 : 0;
    }
}

}  // namespace

Element type_named(std::string_view name) {
    const auto* const found = std::find_if(kTypes.begin(), kTypes.end(),
                                           [&](const Named& one) { return one.name == name; });
    return found == kTypes.end() ? Element::unknown : found->type;
}

Element type_numbered(int scalar_type) {
    const auto* const found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Named& one) {
        return one.scalar_type == scalar_type;
    });
    return found == kTypes.end() ? Element::unknown : found->type;
}

std::size_t size_of(Element type) {
    switch (type) {
        case Element::unknown:
        case Element::boolean:
        case Element::i8:
        case Element::u8:
            return 1;
        case Element::i16:
            return 2;
        case Element::i32:
        case Element::f32:
            return 4;
        case Element::i64:
        case Element::f64:
            return 8;
    }
    return 1;
}

Number load(Element type, const std::byte* at) {
    switch (type) {
        case Element::boolean:
            return at[0] != std::byte{0} ? 1 : 0;
        case Element::i8:
            return as_number<std::int8_t>(at);
        case Element::u8:
            return as_number<std::uint8_t>(at);
        case Element::i16:
            return as_number<std::int16_t>(at);
        case Element::i32:
            return as_number<std::int32_t>(at);
        case Element::i64:
            return as_number<std::int64_t>(at);
        case Element::f32:
            return as_number<float>(at);
        case Element::f64:
            return as_number<double>(at);
        case Element::unknown:
            break;
    }
    return 0;
}

void store(Element type, Number number, std::byte* at) {
    switch (type) {
        case Element::boolean:
            return put<std::uint8_t>(number != 0 ? 1 : 0, at);
        case Element::i8:
            return put<std::int8_t>(static_cast<std::int8_t>(to_integer(number)), at);
        case Element::u8:
            return put<std::uint8_t>(static_cast<std::uint8_t>(to_integer(number)), at);
        case Element::i16:
            return put<std::int16_t>(static_cast<std::int16_t>(to_integer(number)), at);
        case Element::i32:
            return put<std::int32_t>(static_cast<std::int32_t>(to_integer(number)), at);
        case Element::i64: {
            const std::int64_t value = to_integer(number);
            std::memcpy(at, &value, sizeof value);
            return;
        }
        case Element::f32:
            return put<float>(number, at);
        case Element::f64:
            return put<double>(number, at);
        case Element::unknown:
            return;
    }
}

// The result of an operation if it doesn't depend on the unknown side.
Value absorbed(Op op, Element type, const Value& known) {
    if (!known)
        return {};
    const bool zero = *known == 0;
    const bool all_bits = type == Element::boolean ? !zero : *known == -1;
    switch (op) {
        case Op::bit_and:
        case Op::logical_and:
            return zero ? Value(0) : Value();
        case Op::bit_or:
            return all_bits ? known : Value();
        case Op::logical_or:
            return zero ? Value() : Value(1);
        default:
            return {};
    }
}

Value apply(Op op, Element type, const Functor& functor, const Value& a, const Value& b) {
    if (!a || !b) {
        const Value found = absorbed(op, type, a);
        return found ? found : absorbed(op, type, b);
    }
    switch (op) {
        case Op::fill:
        case Op::copy:
            return a;
        case Op::equal:
            return (*a == *b) == (functor.code == 0) ? 1 : 0;
        case Op::compare:
        case Op::compare_scalar:
            return ordered(functor.code, *a, *b);
        case Op::bit_and:
            return to_integer(*a) & to_integer(*b);
        case Op::bit_or:
            return to_integer(*a) | to_integer(*b);
        case Op::bit_xor:
            return to_integer(*a) ^ to_integer(*b);
        case Op::bit_not:
            return type == Element::boolean ? Number(*a == 0) : ~to_integer(*a);
        case Op::logical_and:
            return *a != 0 && *b != 0 ? 1 : 0;
        case Op::logical_or:
            return *a != 0 || *b != 0 ? 1 : 0;
        case Op::logical_not:
            return *a == 0 ? 1 : 0;
        case Op::add:
        case Op::add_self:
            return *a + functor.alpha * *b;
        case Op::multiply:
            return *a * *b;
        case Op::greatest:
            return std::max(*a, *b);
        case Op::least:
            return std::min(*a, *b);
    }
    return {};
}

}  // namespace tidemark::imagined
