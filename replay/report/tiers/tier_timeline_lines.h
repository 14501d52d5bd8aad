// What happened in a replay over tiers, as JSON Lines for viewers: a header that says where it
// comes from, then one span per line, ordered by start, and between them what each memory held.
// docs/format-timeline.md describes the format.
#pragma once

#include "core/base/result.h"
#include "replay/report/forms/model.h"
#include "replay/tiers/tier_run.h"
#include "traces/io/output_file.h"
#include "traces/model/trace.h"

namespace tidemark {

// Writes `run`'s timeline to `file`, which the caller commits. Memory O(spans): they are sorted.
// Errors: those of the file.
Result<void> write_timeline(const TierRun& run, const TraceInfo& info, const Provenance& provenance,
                            OutputFile& file);

}  // namespace tidemark
