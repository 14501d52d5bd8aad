// The offline bound as text that advise, fit and report share.
#pragma once

#include <string>

#include "replay/analysis/bound/offline_bound.h"

namespace tidemark {

// Its figure: "6.20 GiB"; "6.18 GiB or more" without a search.
std::string offline_figure(const OfflineBound& bound);

// What it means, without a full stop.
std::string offline_meaning(const OfflineBound& bound);

}  // namespace tidemark
