// Random programs: what a program that uses an allocator might do, as a list of steps that shrinks
// well. A step names things by number ("the 7th of what is live"), so that any list of steps is a
// program; a step that finds nothing to act on does nothing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include <rapidcheck.h>

#include "core/base/units.h"

namespace tidemark::support {

struct Step {
    enum class Kind : std::uint8_t {
        allocate,     // `size`, `alignment`, `stream`, `pool`; and writes all of it
        deallocate,   // live number `which`
        retire,       // live number `which`: retire, wait for its streams, deallocate
        use,          // live number `which` on `stream`, in order, with record_use
        synchronize,  // the program waits for `stream`
        idle,         // time passes: `size` nanoseconds
        trim_unused,
        trim_all,
    };
    Kind kind = Kind::allocate;
    std::uint32_t which = 0;
    StreamId stream = StreamId::default_stream;
    Bytes size = 0;
    Bytes alignment = 1;
    PoolId pool = PoolId::default_pool;
};

using Program = std::vector<Step>;

// "allocate 4096 aligned 512 on stream 1"; what RapidCheck prints.
std::ostream& operator<<(std::ostream& out, const Step& step);

// Programs of up to a hundred steps and `scale` times as many, for devices of some dozens of MiB.
rc::Gen<Program> programs(double scale = 1.0);

}  // namespace tidemark::support
