// JSON: the report of each command for programs. One object per command, stable names, sizes in
// bytes, times in nanoseconds. docs/json.md describes every key, and a test checks that it does.
// Pure; each function returns the whole object, indented, and a new line.
#pragma once

#include <span>
#include <string>

#include "core/allocator/allocator.h"
#include "replay/analysis/advise/out_of_memory.h"
#include "replay/analysis/compare/compare.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/verify.h"
#include "replay/report/forms/model.h"
#include "replay/scenario/scenario.h"
#include "traces/generators/generators.h"
#include "traces/model/trace.h"

namespace tidemark {

std::string trace_json(const std::string& name, const Trace& trace, const TraceSummary& summary,
                       const Provenance& provenance);
// `failure` explains a run that stopped where a request ran out of memory.
std::string run_json(const Run& run, const TraceInfo& info, const Provenance& provenance,
                     const OutOfMemoryReport& failure = {});
std::string comparison_json(const Comparison& comparison, const Provenance& provenance);
std::string verify_json(const std::string& name, const Trace& trace, const VerifyReport& report,
                        const Provenance& provenance);
std::string policies_json(std::span<const PolicyInfo> policies, const Provenance& provenance);
std::string generators_json(std::span<const GeneratorInfo> generators,
                            const Provenance& provenance);
std::string written_json(std::span<const WrittenFile> files, const Provenance& provenance);

}  // namespace tidemark
