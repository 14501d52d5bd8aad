// The report of `tidemark calibrate`: every operation with its spread. Pure. O(measurements).
#pragma once

#include <string>

#include "replay/analysis/calibrate/calibrate.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// `target` is the file that was written, or "-".
std::string calibration_text(const Calibration& calibration, const std::string& target);

// One object: the keys are in docs/json.md.
std::string calibration_json(const Calibration& calibration, const std::string& target,
                             const Provenance& provenance);

}  // namespace tidemark
