// The ranks' divergence as text, and how it was found. Pure; O(ranks).
#pragma once

#include <span>
#include <string>

#include "viz/model/ranks/rank_divergence.h"
#include "viz/model/ranks/rank_table.h"

namespace tidemark::viz {

// `rows` of the session are those that the divergences are of, in their order; `reference` is the
// row that reserved memory was compared with.
std::string divergence_text(const Session& session, std::span<const RankFigures> rows,
                            const RankDivergences& found, std::size_t reference, Bytes threshold);

}  // namespace tidemark::viz
