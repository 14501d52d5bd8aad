// Whether iterations are the same, as text and as JSON.
#pragma once

#include <string>

#include "replay/analysis/trace/drift.h"
#include "replay/report/forms/model.h"
#include "traces/model/trace.h"

namespace tidemark {

std::string drift_text(const std::string& name, const DriftReport& report);

std::string drift_json(const std::string& name, const Trace& trace, const DriftReport& report,
                       const Provenance& provenance);

}  // namespace tidemark
