// waits: how long calls of the C interface wait, as tm_set_waits() says for each thread.
#pragma once

#include <optional>

#include "core/base/result.h"

namespace tidemark::c_api {

// A call begins: its time runs from its first wait on.
void begin_call() noexcept;

// Why the call of this thread is to wait no longer, if so: its caller wants the end, or the time is
// over. What it said once it goes on saying until the call ends. The caller is asked every 50 ms at
// most, so that this may be called as often as one likes.
std::optional<Error> wait_ended();

}  // namespace tidemark::c_api
