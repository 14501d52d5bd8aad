// Input of reports that no analysis provides: where a result comes from, and what was written.
// Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "traces/model/trace.h"

namespace tidemark {

// Where a result comes from; hashes of inputs are added by each report.
struct Provenance {
    std::string version;
    std::string command;  // as typed, quoted for a shell
};

// A file that a command wrote.
struct WrittenFile {
    std::string source;
    std::string target;
    std::string format;                 // of the target
    TraceInfo info;                     // of the source
    std::uint64_t events = 0;           // in the target
    std::uint64_t left_out_truth = 0;   // those that the target's format can't hold
    std::uint64_t left_out_events = 0;  // the same, of the program's own events
    std::uint64_t backwards = 0;        // spans that end before they begin: length 0 there
    std::uint64_t bytes = 0;            // of the target; 0 = not known (standard output)
};

}  // namespace tidemark
