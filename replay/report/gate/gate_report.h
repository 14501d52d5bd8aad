// A gate's answer: for the log of a CI job, as Markdown for its summary, as JSON, and as JUnit's
// XML, which most CI systems show. Pure.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/gate/gate.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// "broken: retries > 0: 3", one for each broken budget.
std::vector<std::string> broken_lines(const GateReport& report);

// Those lines, then how many hold.
std::string gate_text(const std::string& name, const Run& run, const GateReport& report);

// A table of all budgets.
std::string gate_markdown(const std::string& name, const Run& run, const GateReport& report);

// `baseline` is null if there is none.
std::string gate_json(const Run& run, const GateReport& report, const Baseline* baseline,
                      const Provenance& provenance);

// A test suite with a case for each budget. Without times: the same input gives the same file.
std::string gate_junit(const std::string& name, const Run& run, const GateReport& report);

}  // namespace tidemark
