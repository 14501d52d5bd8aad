// The result of `tidemark minimize`, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/analysis/minimize/minimize.h"
#include "replay/metrics/metric.h"
#include "replay/report/forms/model.h"

namespace tidemark {

// A figure that the condition names.
struct MinimizedFigure {
    Measurement before;
    Measurement after;
};

struct MinimizeReport {
    std::string name;    // of the trace
    std::string target;  // the file written
    std::string format;
    std::uint64_t bytes = 0;
    std::string condition;
    std::string policy;  // of all replays
    std::vector<MinimizedFigure> figures = {};
    TraceSize before;
    TraceSize after;
    std::uint64_t replays = 0;
    bool complete = false;
    std::string again;  // the command that shows it
};

std::string minimize_text(const MinimizeReport& report);

std::string minimize_json(const MinimizeReport& report, const Provenance& provenance);

}  // namespace tidemark
