// NativeStack: the native call stack of a driver call, as frames of the program's libraries. Each
// stack is named once for the process.
//
// Thread-safe. A few microseconds for a known stack of 20 frames.
#pragma once

#include <cstdint>
#include <string>

#include "traces/live/publisher.h"

namespace tidemark::inject {

// The publisher's id of the calling thread's stack, without the recorder's own frames and those of
// CUPTI and the driver; 0 where there is no room for it.
std::uint32_t name_stack(live::Publisher& publisher);

// A C++ name in readable form; any other as it is.
std::string demangled(const char* name);

}  // namespace tidemark::inject
