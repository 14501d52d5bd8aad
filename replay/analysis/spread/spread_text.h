// Ranges of peaks and savings as text.
#pragma once

#include <optional>
#include <string>

#include "replay/analysis/spread/spread.h"

namespace tidemark {

// "1.18 to 2.51 GiB"; one figure where both ends read alike.
std::string range_text(const PeakSpread& spread);

// "saves 20 to 34 %", "needs 3 to 8 % more"; what lies on both sides of nothing: "from 3 % less to
// 8 % more".
std::string saving_text(const SavingSpread& saving);

}  // namespace tidemark
