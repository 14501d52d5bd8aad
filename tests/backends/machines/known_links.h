// A profile whose links are known: what a copy takes, and when the host sees its end.
#pragma once

#include <array>

#include "backends/sim/costs.h"

namespace tidemark::support {

// To the host at 50 GB/s, from it at 40 GB/s; a copy costs its link 2 us beside its bytes, the call
// 500 ns (hidden behind the copy before it), and a synchronization 1500 ns. So the host knows of
// the end of a copy alone 2 us later than the link is free.
inline CostProfile known_links() {
    CostProfile profile;
    profile.name = "known";
    profile.device = "Known GPU";
    profile.memory = 16_GiB;
    profile.granularity = 2_MiB;
    const auto line = [](double bytes_per_second) {
        const std::array points{
            CostPoint{0, 2000},
            CostPoint{50'000'000'000,
                      2000 + static_cast<Nanoseconds>(50e9 * 1e9 / bytes_per_second)}};
        return CostCurve(points);
    };
    profile.transfers[static_cast<std::size_t>(Transfer::to_host)] = line(50e9);
    profile.transfers[static_cast<std::size_t>(Transfer::to_device)] = line(40e9);
    const auto cost = [&profile](DeviceCall call, Nanoseconds price) {
        const std::array points{CostPoint{0, price}};
        profile.calls[static_cast<std::size_t>(call)] = CostCurve(points);
    };
    cost(DeviceCall::copy, 500);
    cost(DeviceCall::synchronize, 1500);
    cost(DeviceCall::synchronize_device, 1500);
    return profile;
}

}  // namespace tidemark::support
