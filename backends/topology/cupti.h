// CUPTI, the library with which CUDA programs are watched: where it is, and whether it can be
// loaded.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

struct CuptiFacts {
    std::string path;
    unsigned version = 0;  // of its interface, as cuptiGetVersion tells
};

// Where to look, in this order: `first` (a file) alone if it is not empty; names that the system's
// loader knows; folders of a CUDA toolkit; `last` (a file).
struct CuptiQuestion {
    std::string first = {};
    std::vector<std::string> names = {};
    std::vector<std::string> toolkits = {};
    std::string last = {};
};

// The usual places: TIDEMARK_CUPTI; libcupti.so.13, .12 and .11; CUDA_HOME, CUDA_PATH and
// `root`/usr/local/cuda. `last` is left to the caller.
CuptiQuestion usual_cupti_places(const std::string& root = "");

// Loads what it finds first that can be loaded. Errors: not_found: there is none; unsupported: what
// there is cannot be loaded, or is no CUPTI.
Result<CuptiFacts> find_cupti(const CuptiQuestion& question);

}  // namespace tidemark
