// The ticks of an axis of bytes.
#pragma once

#include <string>

#include "core/base/units.h"

namespace tidemark::report {

struct ByteAxis {
    Bytes step = 1;  // between ticks: a power of two, as sizes are binary
    Bytes top = 1;   // the last tick
};

// From 0 to `most` or a little more, in at most six steps. O(1).
ByteAxis byte_axis(Bytes most);

// "1.5 GiB": a multiple of a tick's step, without needless digits.
std::string tick_label(Bytes value);

}  // namespace tidemark::report
