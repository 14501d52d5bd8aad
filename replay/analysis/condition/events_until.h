// Where in a trace a condition begins to hold, replayed from the trace's start.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/result.h"
#include "replay/analysis/condition/condition.h"
#include "replay/scenario/scenario.h"
#include "traces/model/trace.h"

namespace tidemark {

// How many of the first events it takes: a replay of this many under `scenario` shows `condition`,
// and a replay of one less doesn't. For a figure that can fall there may be several such numbers:
// then it is one of those within the first doubling (of 1024 events) that shows it. Nothing if a
// replay of the whole trace doesn't show it. About 2 log(events) replays. `progress` gets the
// number of replays so far, and may be empty. Errors: those of run().
Result<std::optional<std::uint64_t>> events_until(
    const Trace& trace, const Scenario& scenario, const Condition& condition,
    const RunListeners& listeners = {}, const std::function<void(std::uint64_t)>& progress = {});

}  // namespace tidemark
