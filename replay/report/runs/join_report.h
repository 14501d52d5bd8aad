// Text and JSON about a process that was recorded at two levels (replay/analysis/join).
#pragma once

#include <string>

#include "replay/analysis/join/join.h"
#include "replay/report/forms/json_values.h"

namespace tidemark {

struct NamedJoin {
    std::string driver;  // the names of the recordings
    std::string framework;
    RecordingJoin join;
};

// A sentence that says whether all segments match, those that don't, and a row for each holder.
std::string join_text(const NamedJoin& joined);

namespace report {
Json join_of(const NamedJoin& joined);
}

}  // namespace tidemark
