// The result of `tidemark scale`, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/scale/scale.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// `names` are the ranks' recordings, `model` is that of the first.
std::string scale_text(const std::vector<std::string>& names, const ScaleModel& model,
                       const ScaleReport& report);

std::string scale_json(const std::vector<std::string>& names, const ScaleModel& model,
                       const ScaleReport& report, const Provenance& provenance);

}  // namespace tidemark
