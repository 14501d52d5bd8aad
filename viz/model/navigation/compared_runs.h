// Compared runs: which runs of a session are compared, in which order, and the result in a
// sentence. Pure; O(runs * marks).
#pragma once

#include <string>
#include <vector>

#include "viz/model/session/session.h"

namespace tidemark::viz {

// The runs with events, as indexes of the session: A and B first, then the best one, then the
// others in their order. A is the picked one, else the first; B the picked one, else the shown one,
// else the best of the others.
std::vector<std::size_t> comparison_order(const Session& session, const Selection& selection);

// Of runs with events, at least one: the one that peaks lowest among those with the fewest
// out-of-memory errors; the first of equals.
std::size_t best_run(const Session& session, const std::vector<std::size_t>& runs);

// "vpmm peaks 1.70 GiB lower than torch (-20.5 %): ...; the lowest of 4". Of such an order of at
// least two.
std::string comparison_verdict(const Session& session, const std::vector<std::size_t>& order);

}  // namespace tidemark::viz
