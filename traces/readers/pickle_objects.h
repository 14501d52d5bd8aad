// What may be named in a pickle besides plain data, and what it stands for. Nothing of it is
// imported or called: a dict of another class is a dict, a NumPy scalar is its number, and any
// other object of these libraries is opaque. A name that isn't here is an Error.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidemark {

enum class PickleCallable : std::uint8_t {
    unknown,
    dict,    // makes a dict: OrderedDict, defaultdict
    scalar,  // NumPy's: of a dtype and its bytes
    dtype,   // NumPy's
    encode,  // bytes, as protocols 0 to 2 write them: of a Latin-1 text
    opaque,  // anything else of a library that only holds data
};

// O(names).
PickleCallable find_pickle_callable(std::string_view module, std::string_view name);

// NumPy's type of a number, little-endian: its letter ('i', 'u', 'f', 'b') and its size in bytes.
struct PickleDtype {
    char letter = 0;
    std::uint32_t size = 0;  // 0 = of no interest

    static PickleDtype unpack(std::uint64_t payload) {
        return {static_cast<char>(payload & 255U), static_cast<std::uint32_t>(payload >> 8U)};
    }

    std::uint64_t pack() const {
        return static_cast<unsigned char>(letter) | std::uint64_t{size} << 8U;
    }
};

}  // namespace tidemark
