// The spaces of the small machines that tests make.
#pragma once

#include "core/tiers/machine/machine.h"

namespace tidemark::support {

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kGpu1{Tier::gpu, 1};
constexpr SpaceId kHost{Tier::host, 0};
constexpr SpaceId kDisk{Tier::disk, 0};

}  // namespace tidemark::support
