// Ranks of one run, each with its own recording: the answer for all of them.
#pragma once

#include <span>

#include "replay/analysis/scale/scale.h"

namespace tidemark {

// A row for each policy that all ranks have: its peaks are those of the rank that needs most (of
// each figure by itself), its largest growth is what all of them can have. The rest is the first
// rank's, with the notes of all. `ranks` isn't empty, and all answer one question. O(rows x ranks).
ScaleReport over_ranks(std::span<const ScaleReport> ranks);

}  // namespace tidemark
