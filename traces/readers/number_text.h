// Numbers as logs print them: whole fields, no sign, no space, checked for overflow.
// Pure functions for hot loops; core/base/text.h has those for people.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark {

// True if all of `text` is one decimal number below 2^64.
inline bool parse_decimal(std::string_view text, std::uint64_t& value) {
    if (text.empty())
        return false;
    value = 0;
    for (const char letter : text) {
        const auto digit = static_cast<std::uint64_t>(static_cast<unsigned char>(letter)) - '0';
        if (digit > 9)
            return false;
        if (value > UINT64_MAX / 10 || (value == UINT64_MAX / 10 && digit > UINT64_MAX % 10))
            return false;
        value = value * 10 + digit;
    }
    return true;
}

namespace detail {

constexpr std::uint8_t kNoDigit = 0x80;

inline constexpr auto kHexDigits = [] {
    std::array<std::uint8_t, 256> digits{};
    digits.fill(kNoDigit);
    for (std::uint8_t i = 0; i < 10; ++i)
        digits[std::size_t{'0'} + i] = i;
    for (std::uint8_t i = 0; i < 6; ++i)
        digits[std::size_t{'a'} + i] = digits[std::size_t{'A'} + i] =
            static_cast<std::uint8_t>(10 + i);
    return digits;
}();

}  // namespace detail

// True if all of `text` is one hexadecimal number below 2^64, without "0x".
inline bool parse_hex(std::string_view text, std::uint64_t& value) {
    if (text.empty() || text.size() > 16)
        return false;
    std::uint8_t wrong = 0;
    value = 0;
    for (const char letter : text) {
        const std::uint8_t digit = detail::kHexDigits[static_cast<unsigned char>(letter)];
        wrong |= digit;
        value = value << 4U | digit;
    }
    return (wrong & detail::kNoDigit) == 0;
}

}  // namespace tidemark
