// ChromeTrace: a trace and its replays under policies, for Perfetto (ui.perfetto.dev) and
// chrome://tracing, in the JSON trace event format.
//
// A device is a process. In it: counters "reserved", "allocated" and "requested" for each policy;
// each block as an async slice from its request until its bytes are free again, named after its
// stream and its call site; ranges (steps, modules) as slices of their own thread;
// marks, out of memory and retries as instants. With several devices, another process has the sums
// of the counters. Times are the recording's, in microseconds with three decimals; docs/json.md has
// the details.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/result.h"
#include "replay/report/forms/model.h"
#include "replay/scenario/scenario.h"
#include "traces/io/output_file.h"
#include "traces/model/trace.h"

namespace tidemark {

struct ChromeSummary {
    std::uint64_t entries = 0;
    std::uint64_t backwards = 0;  // slices that end before they begin, written without length
};

// Writes the file; the caller commits it. One replay for each scenario, then one pass for the rest.
// The same trace and scenarios give the same bytes but for `provenance`. O(events) a scenario;
// memory O(live). Errors: those of run(); io.
Result<ChromeSummary> write_chrome_trace(
    const Trace& trace, std::span<const Scenario> scenarios, const Provenance& provenance,
    OutputFile& file, const std::function<void(std::uint64_t events_done)>& progress = {});

}  // namespace tidemark
