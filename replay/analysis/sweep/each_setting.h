// What sweeps of any kind do with their settings: each on the next thread that is free.
#pragma once

#include <mutex>
#include <optional>

#include "core/base/result.h"
#include "core/base/threads.h"
#include "replay/analysis/sweep/sweep.h"

namespace tidemark {

// Gives keep(i, replay(i)) for every i below `count`, never to two threads at once. See
// run_settings().
template <class Replay, class Keep>
Result<void> each_setting(std::size_t count, const SweepOptions& options, Replay replay,
                          const Keep& keep) {
    std::mutex mutex;
    std::optional<Error> failure;
    parallel_for(count, options.threads, [&](std::size_t i, unsigned) {
        if (options.stop && options.stop())
            return false;
        auto result = replay(i);
        const std::lock_guard lock(mutex);
        if (!result && result.error().code != ErrorCode::bad_option) {
            failure = failure ? failure : std::move(result).error();
            return false;
        }
        const Result<void> kept = keep(i, result);
        if (!kept && !failure)
            failure = kept.error();
        return kept.has_value();
    });
    if (failure)
        return tl::make_unexpected(*failure);
    return {};
}

}  // namespace tidemark
