// Text: the report of each command for people. Every function is pure and returns lines that end in
// a new line; sizes and times in human units. Strings that come from files are made printable
// first.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/allocator/allocator.h"
#include "replay/analysis/advise/out_of_memory.h"
#include "replay/analysis/compare/compare.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/verify.h"
#include "replay/report/forms/model.h"
#include "replay/report/forms/table.h"
#include "replay/scenario/scenario.h"
#include "traces/generators/generators.h"
#include "traces/model/trace.h"

namespace tidemark {

// `info`: what a trace is and holds. `name` is what the user called it.
std::string trace_text(const std::string& name, const TraceInfo& info, const TraceSummary& summary);

// `replay`: all measurements in groups, then `chart`, refusals, hazards and warnings.
std::string run_text(const std::string& name, const Run& run, const TraceInfo& info,
                     const std::string& chart, const OutOfMemoryReport& failure = {});

// `compare`: a table for each trace, the totals over several, and a verdict.
std::string comparison_text(const Comparison& comparison, Emphasis emphasis);

// `verify`: the counts, and the first difference with its neighbourhood.
std::string verify_text(const std::string& name, const VerifyReport& report);

// `policies`: all of them, a line each; or one with its options.
std::string policies_text(std::span<const PolicyInfo> policies);
std::string policy_text(const PolicyInfo& policy);

// `generate` without a name: the generators with their options.
std::string generators_text(std::span<const GeneratorInfo> generators);

// The values that an option takes: "bytes, 4KiB..1GiB", "count, MiB", "first|best".
std::string option_kind_text(const OptionInfo& option);

// Options with type, unit, range, default and meaning; each begins with an empty line.
std::string options_text(std::span<const OptionInfo> options);

// `import`, `export`, `generate`: what was written where, and what was left out.
std::string written_text(const WrittenFile& file);

// A trace's anomalies and warnings, a "note: ..." line each; "" if there are none.
std::string trace_notes(const TraceInfo& info);

}  // namespace tidemark
