// Rank names: which runs of a session are ranks of one program (replay/analysis/compare/ranks.h),
// and their numbers, read from the names of their files. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "viz/model/session/session.h"

namespace tidemark::viz {

struct NamedRank {
    std::size_t run = 0;  // of the session
    std::string number;   // "5"; "1/3" where no number of the names tells them apart alone
};

// Whether the shown run is one of several ranks. O(runs), and no more than a few of them where it
// is.
bool has_ranks(const Session& session, const Selection& selection);

// The ranks that the shown run belongs to, all under its policy, by rising number; none where it is
// the only one. O(ranks * length of names).
std::vector<NamedRank> find_ranks(const Session& session, const Selection& selection);

}  // namespace tidemark::viz
