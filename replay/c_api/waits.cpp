// Each thread's options for waits, and the state of its current wait.
#include "replay/c_api/waits.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/stopwatch.h"
#include "replay/c_api/errors.h"
#include "replay/c_api/store_state.h"

namespace tidemark::c_api {
namespace {

constexpr Nanoseconds kLookEvery = 50'000'000;

struct Waits {
    tm_wait_options wanted{};
    bool begun = false;  // the call waits, since `watch` began
    bool interrupted = false;
    Stopwatch watch;
    Nanoseconds next_look = 0;
};

thread_local Waits waits;

}  // namespace

void begin_call() noexcept {
    waits.begun = false;
    waits.interrupted = false;
}

std::optional<Error> wait_ended() {
    if (waits.wanted.interrupted == nullptr && waits.wanted.timeout == 0)
        return std::nullopt;
    if (!waits.begun) {
        waits.begun = true;
        waits.watch = Stopwatch();
        waits.next_look = kLookEvery;
    }
    const Nanoseconds elapsed = waits.watch.elapsed();
    if (waits.wanted.interrupted != nullptr && elapsed >= waits.next_look && !waits.interrupted) {
        waits.interrupted = waits.wanted.interrupted(waits.wanted.user) != 0;
        waits.next_look = elapsed + kLookEvery;
    }
    if (waits.interrupted)
        return Error{ErrorCode::cancelled, "the wait was interrupted", {}, {}};
    if (waits.wanted.timeout != 0 && elapsed >= nanoseconds_of(waits.wanted.timeout))
        return Error{ErrorCode::cancelled,
                     fmt::format("nothing became available within {} s",
                                 static_cast<double>(waits.wanted.timeout) / 1e9),
                     {},
                     {}};
    return std::nullopt;
}

}  // namespace tidemark::c_api

tm_status tm_set_waits(const tm_wait_options* given) {
    using namespace tidemark::c_api;
    tm_wait_options options{};
    if (const tm_status bad = copy_in(given, options); bad != TM_OK)
        return bad;
    waits.wanted = options;
    return TM_OK;
}
