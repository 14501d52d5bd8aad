// Words and JSON for a process that was recorded at two levels (replay/analysis/join).
#pragma once

#include <string>

#include "replay/analysis/join/join.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {

struct NamedJoin {
    std::string driver;  // what the recordings are called
    std::string framework;
    RecordingJoin join;
};

// A sentence on whether all matches, what doesn't, and a row for each holder of memory.
std::string join_text(const NamedJoin& joined);

namespace report {
Json join_of(const NamedJoin& joined);
}

}  // namespace tidemark
