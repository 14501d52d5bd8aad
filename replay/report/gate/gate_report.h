// A gate's answer: as text for the log of a CI job, as Markdown for its summary, as JSON, and as
// JUnit XML, which most CI systems show. Pure.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/gate/gate.h"
#include "replay/analysis/trace/growth.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// What grew since the baseline's trace, if that exists and a budget is broken.
struct GateGrowth {
    std::string before;  // the names of the traces
    std::string after;
    Growth growth;
};

// "broken: retries > 0: 3", one for each broken budget.
std::vector<std::string> broken_lines(const GateReport& report);

// Those lines, then how many budgets are kept, then what grew (null: not known).
std::string gate_text(const std::string& name, const Run& run, const GateReport& report,
                      const GateGrowth* growth = nullptr);

// A table of all budgets, and what grew.
std::string gate_markdown(const std::string& name, const Run& run, const GateReport& report,
                          const GateGrowth* growth = nullptr);

// `baseline` is null if there is none.
std::string gate_json(const Run& run, const GateReport& report, const Baseline* baseline,
                      const Provenance& provenance, const GateGrowth* growth = nullptr);

// A test suite with a case for each budget, without times: the same input gives the same file.
std::string gate_junit(const std::string& name, const Run& run, const GateReport& report);

}  // namespace tidemark
