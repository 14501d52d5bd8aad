// The report of `fit` as text and as JSON. Pure; text as in runs/text.h, JSON as in runs/json.h
// (the keys are in docs/json.md).
#pragma once

#include <string>

#include "replay/analysis/fit/fit.h"
#include "replay/report/forms/model.h"
#include "replay/report/forms/table.h"

namespace tidemark {

// `name` is what the user called the trace.
std::string fit_text(const std::string& name, const TraceInfo& info, const FitReport& report,
                     Emphasis emphasis);

std::string fit_json(const std::string& name, const Trace& trace, const FitReport& report,
                     const Provenance& provenance);

}  // namespace tidemark
