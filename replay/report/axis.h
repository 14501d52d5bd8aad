// Where an axis of bytes has its ticks.
#pragma once

#include <string>

#include "core/base/units.h"

namespace tidemark::report {

// The smallest power of two that is not below `value`: sizes are binary, so their ticks are.
Bytes tick_step(double value);

// "1.5 GiB": a multiple of a tick's step, without digits that say nothing.
std::string tick_label(Bytes value);

}  // namespace tidemark::report
