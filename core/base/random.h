// Random: the only source of randomness. Seeded, the same numbers on every machine (splitmix64, S.
// Vigna's public-domain constants). std::distributions differ between libraries, so none is used.
#pragma once

#include <cstdint>

namespace tidemark {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // Uniform over all 64-bit values. O(1).
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

    // Uniform in [0, bound), by multiplication (bias below 2^-32 for the bounds used here).
    // `bound` must not be 0.
    std::uint64_t below(std::uint64_t bound) {
        return static_cast<std::uint64_t>((Wide{next()} * bound) >> 64U);
    }

    // Uniform in [0, 1).
    double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  private:
    __extension__ using Wide = unsigned __int128;

    std::uint64_t state_;
};

}  // namespace tidemark
