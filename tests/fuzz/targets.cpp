// The catalogue of fuzz targets.
#include "tests/fuzz/targets.h"

#include <array>

namespace tidemark::fuzz {

std::span<const Target> all_targets() {
    static constexpr std::array kTargets{
#define TIDEMARK_FUZZ_TARGET(name) Target{#name, name},
#include "tests/fuzz/targets.inc"
#undef TIDEMARK_FUZZ_TARGET
    };
    return kTargets;
}

}  // namespace tidemark::fuzz
