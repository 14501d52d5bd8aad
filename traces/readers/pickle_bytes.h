// Little-endian numbers in pickled bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tidemark {

// `count` <= 8 bytes, zero-extended.
inline std::uint64_t load(const unsigned char* bytes, std::size_t count) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i)
        number |= std::uint64_t{bytes[i]} << (8 * i);
    return number;
}

// The same for a width that the compiler knows: one load.
template <class T>
T load_as(const unsigned char* bytes) {
    T number;
    std::memcpy(&number, bytes, sizeof number);
    if constexpr (std::endian::native == std::endian::big)
        return static_cast<T>(load(bytes, sizeof number));
    return number;
}

}  // namespace tidemark
