// Where in a trace a condition begins to hold, replayed from the trace's begin.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/result.h"
#include "replay/analysis/condition/condition.h"
#include "replay/scenario/scenario.h"
#include "traces/model/trace.h"

namespace tidemark {

// How many of the first events it takes: a replay of so many under `scenario` shows `condition`,
// and one of an event less doesn't. Of a figure that can fall there may be several such places:
// then it is one of those within the first doubling (of 1024 events) that shows it. Nothing where a
// replay of the whole trace doesn't show it. Some 2 log(events) replays. `progress` gets the number
// of replays so far, and may be empty. Errors: those of run().
Result<std::optional<std::uint64_t>> events_until(
    const Trace& trace, const Scenario& scenario, const Condition& condition,
    const RunListeners& listeners = {}, const std::function<void(std::uint64_t)>& progress = {});

}  // namespace tidemark
