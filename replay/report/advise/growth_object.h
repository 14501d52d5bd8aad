// What grew, as an object within another command's JSON.
#pragma once

#include <string>

#include "replay/analysis/trace/growth.h"
#include "replay/report/forms/json_values.h"

namespace tidemark::report {

// The object of growth_json() without provenance.
Json growth_object(const std::string& before, const std::string& after, const Growth& growth);

}  // namespace tidemark::report
