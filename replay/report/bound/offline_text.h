// The offline bound in the words that advise, fit and report share.
#pragma once

#include <string>

#include "replay/analysis/bound/offline_bound.h"

namespace tidemark {

// Its figure: "6.20 GiB"; where nobody searched "6.18 GiB or more".
std::string offline_figure(const OfflineBound& bound);

// What it means, without a stop at its end.
std::string offline_meaning(const OfflineBound& bound);

}  // namespace tidemark
