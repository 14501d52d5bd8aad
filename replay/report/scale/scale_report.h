// What `tidemark scale` came to, in words and as an object.
#pragma once

#include <string>
#include <vector>

#include "replay/analysis/scale/scale.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// `names` are those of the ranks' recordings, `model` is the first one's.
std::string scale_text(const std::vector<std::string>& names, const ScaleModel& model,
                       const ScaleReport& report);

std::string scale_json(const std::vector<std::string>& names, const ScaleModel& model,
                       const ScaleReport& report, const Provenance& provenance);

}  // namespace tidemark
