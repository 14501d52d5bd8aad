// Numbers as logs print them: whole fields, no sign, no space, checked for overflow. Pure
// functions for hot loops; core/base/text.h has those for people.
#pragma once

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

// True if all of `text` is one hexadecimal number below 2^64, without "0x".
inline bool parse_hex(std::string_view text, std::uint64_t& value) {
    if (text.empty() || text.size() > 16)
        return false;
    value = 0;
    for (const char letter : text) {
        const auto code = static_cast<unsigned>(static_cast<unsigned char>(letter));
        unsigned digit = code - '0';
        if (digit > 9) {
            digit = (code | 0x20U) - 'a';
            if (digit > 5)
                return false;
            digit += 10;
        }
        value = value << 4U | digit;
    }
    return true;
}

}  // namespace tidemark
