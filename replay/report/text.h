// Text: what each command tells a person. Every function is pure and gives lines that end in a new
// line; sizes and times in human units. Strings that come from files are made printable first.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/allocator/allocator.h"
#include "replay/analysis/compare.h"
#include "replay/analysis/out_of_memory.h"
#include "replay/analysis/trace_summary.h"
#include "replay/record/verify.h"
#include "replay/report/model.h"
#include "replay/report/table.h"
#include "replay/scenario/scenario.h"
#include "traces/generators/generators.h"
#include "traces/model/trace.h"

namespace tidemark {

// `text` without what could drive a terminal or break a line: control characters and bytes that
// are no UTF-8 become '?'. New lines are kept only if `lines`. O(length).
std::string printable(std::string_view text, bool lines = false);

// `text` for one line: printable, and at most `most` characters, the rest an ellipsis: names in a
// trace may be of any length. O(most).
std::string one_line(std::string_view text, std::size_t most = 200);

// "80.0 GiB, 768 MiB of them for the CUDA context and libraries": a card that was named.
std::string card_text(Bytes memory, Bytes overhead);

// A measurement in its unit: "7.21 GiB", "12,345", "310 us", "4.1 %", "1.34".
std::string figure_text(const Measurement& measurement);

// `info`: what a trace is and holds. `name` is what the user called it.
std::string trace_text(const std::string& name, const TraceInfo& info, const TraceSummary& summary);

// `replay`: all measurements in groups, then `picture`, refusals, hazards and warnings.
std::string run_text(const std::string& name, const Run& run, const TraceInfo& info,
                     const std::string& picture, const OutOfMemoryReport& failure = {});

// `compare`: a table for each trace, the totals over several, and what it means.
std::string comparison_text(const Comparison& comparison, Emphasis emphasis);

// `verify`: the counts, and the first difference with its neighbourhood.
std::string verify_text(const std::string& name, const VerifyReport& report);

// `policies`: all of them, a line each; or one with its options.
std::string policies_text(std::span<const PolicyInfo> policies);
std::string policy_text(const PolicyInfo& policy);

// `generate` without a name: the generators with their options.
std::string generators_text(std::span<const GeneratorInfo> generators);

// Options with type, unit, range, default and meaning; each begins with an empty line.
std::string options_text(std::span<const OptionInfo> options);

// `import`, `export`, `generate`: what was written where, and what was left out.
std::string written_text(const WrittenFile& file);

// A trace's anomalies and warnings, a "note: ..." line each; "" if there are none.
std::string trace_notes(const TraceInfo& info);

}  // namespace tidemark
