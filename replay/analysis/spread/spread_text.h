// Ranges of peaks and savings as text.
#pragma once

#include <optional>
#include <string>

#include "replay/analysis/spread/spread.h"

namespace tidemark {

// "1.18 to 2.51 GiB"; one figure if both ends read the same.
std::string range_text(const PeakSpread& spread);

// "saves 20 to 34 %", "needs 3 to 8 % more"; if the ends are on both sides of 0: "from 3 % less to
// 8 % more".
std::string saving_text(const SavingSpread& saving);

}  // namespace tidemark
