// waits: how long calls of the C interface wait, as tm_set_waits() says for each thread.
#pragma once

#include <optional>

#include "core/base/result.h"

namespace tidemark::c_api {

// A call starts: its time runs from its first wait.
void begin_call() noexcept;

// Why this thread's call must stop waiting, if so: its caller interrupts it, or the time is over.
// Once it has returned a reason, it returns one until the call ends. It asks the caller at most
// every 50 ms, so it may be called any number of times.
std::optional<Error> wait_ended();

}  // namespace tidemark::c_api
