// The size of pages in tests of regions.
#pragma once

#include "core/base/units.h"

namespace tidemark::support {

constexpr Bytes kPage = 4_MiB;

}  // namespace tidemark::support
