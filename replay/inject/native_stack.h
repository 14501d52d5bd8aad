// NativeStack: where the program is that makes a call, as frames of its libraries: each stack is
// named once for the process.
//
// Thread-safe. Some microseconds for a stack of 20 frames that is known.
#pragma once

#include <cstdint>
#include <string>

#include "traces/live/publisher.h"

namespace tidemark::inject {

// The publisher's id of the calling thread's stack, without the recorder's own frames and those of
// CUPTI and the driver; 0 where there is no room for it.
std::uint32_t name_stack(live::Publisher& publisher);

// A name of C++ as people write it; any other as it is.
std::string demangled(const char* name);

}  // namespace tidemark::inject
