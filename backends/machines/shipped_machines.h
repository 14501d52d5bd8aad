// The machines that the program contains: CMake makes an entry of each shipped/NAME.json.
#pragma once

#include <span>
#include <string_view>

namespace tidemark {

struct ShippedMachine {
    std::string_view name;
    std::string_view json;
};

// Sorted by name. O(1), thread-safe.
std::span<const ShippedMachine> shipped_machines();

}  // namespace tidemark
