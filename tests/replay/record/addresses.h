// Addresses far from each other, for records written by hand.
#pragma once

#include <cstdint>

namespace tidemark::addresses {

constexpr std::uint64_t kA = 0x10000000;
constexpr std::uint64_t kB = 0x20000000;
constexpr std::uint64_t kC = 0x30000000;
constexpr std::uint64_t kD = 0x40000000;

}  // namespace tidemark::addresses
