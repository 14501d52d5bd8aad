// Numbers and text as bytes of messages, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tidemark::viz {

// Appends the lowest `width` bytes of `value`.
inline void put_number(std::vector<std::byte>& bytes, std::uint32_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i)
        bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 0xffU));
}

inline void put_text(std::vector<std::byte>& bytes, std::string_view text) {
    const auto raw = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

}  // namespace tidemark::viz
