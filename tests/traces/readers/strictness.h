// How strictly a test has a file read.
#pragma once

#include "traces/model/trace.h"

namespace tidemark::support {

inline ReadOptions lenient() {
    ReadOptions options;
    options.lenient = true;
    return options;
}

inline ReadOptions strict() {
    ReadOptions options;
    options.strict = true;
    return options;
}

}  // namespace tidemark::support
