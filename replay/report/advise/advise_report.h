// The report of `advise`, as text of one screen and as a JSON object. Pure; strings that come
// from files are made printable first. Lines end in a new line.
#pragma once

#include <string>

#include "replay/analysis/advise/advise.h"
#include "replay/analysis/trace/growth.h"
#include "replay/report/forms/model.h"
#include "traces/model/trace.h"

namespace tidemark {

// `name` is the trace's name from the user.
std::string advice_text(const std::string& name, const TraceInfo& info, const Advice& advice);
std::string advice_json(const std::string& name, const Trace& trace, const Advice& advice,
                        const Provenance& provenance);

// Two traces: `before` and `after` are their names from the user.
std::string growth_text(const std::string& before, const std::string& after, const Growth& growth);
std::string growth_json(const std::string& before, const std::string& after, const Growth& growth,
                        const Provenance& provenance);

}  // namespace tidemark
