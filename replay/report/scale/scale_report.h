// What `tidemark scale` came to, in words and as an object.
#pragma once

#include <string>

#include "replay/analysis/scale/scale.h"
#include "replay/report/forms/model.h"

namespace tidemark {

std::string scale_text(const std::string& name, const ScaleModel& model, const ScaleReport& report);

std::string scale_json(const std::string& name, const ScaleModel& model, const ScaleReport& report,
                       const Provenance& provenance);

}  // namespace tidemark
