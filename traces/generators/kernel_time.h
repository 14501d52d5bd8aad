// How long a made-up kernel runs: the launch, plus the longer of moving its bytes and computing. In
// whole numbers, so that every machine gets the same result. Values; thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/units.h"

namespace tidemark::generators {

constexpr Nanoseconds kLaunchTime = 5000;

struct KernelRates {
    std::uint64_t bytes_per_ns = 1;  // GB/s; not 0
    std::uint64_t flops_per_ns = 1;  // thousandths of TFLOP/s; not 0
};

// O(1).
constexpr Nanoseconds kernel_time(const KernelRates& rates, Bytes moved, std::uint64_t flops = 0) {
    const std::uint64_t busy = std::max(moved / rates.bytes_per_ns, flops / rates.flops_per_ns);
    return kLaunchTime + static_cast<Nanoseconds>(busy);
}

}  // namespace tidemark::generators
