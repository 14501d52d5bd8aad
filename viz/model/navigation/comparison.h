// Comparison: two or more runs on one axis: what differs where, from when on, and by how much in
// total.
//
// Runs of the same trace share their events, so that the n-th event of one is the n-th of the
// other, at the same time. Runs of different traces share only the axis: they are compared by the
// time since each one's start, and views that show this should say so. Pure; thread-safe; growing
// histories are compared as far as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/report/page/change_text.h"
#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

enum class Alignment : std::uint8_t {
    events,  // the same events
    time,    // different programs or recordings: by time from the start
};

// By the trace's hash if both have figures, else by name. Says nothing about runs that have no
// history. O(1).
Alignment alignment(const ViewedRun& one, const ViewedRun& other);

// By how much one run exceeds the other within a column; negative: less.
struct DifferenceColumn {
    std::int64_t most = 0;  // between the largest values within
    std::int64_t last = 0;  // between the values on leaving
    bool both = false;      // the column begins where both runs have data

    friend bool operator==(const DifferenceColumn&, const DifferenceColumn&) = default;
};

// From columns of both over the same window (History::series). Spans of equal length. O(columns).
void subtract(std::span<const SeriesColumn> one, std::span<const SeriesColumn> other, Series series,
              std::span<DifferenceColumn> difference);

// The same from the histories. `both` is false from where the shorter one ends. O(columns * log
// events).
void differences(const History& one, const History& other, Series series, AxisUnit unit,
                 const Window& window, std::span<DifferenceColumn> difference);

// Where two runs of the same events diverge.
struct Divergence {
    std::optional<EventIndex> any;       // the first event after which some series differs
    std::optional<EventIndex> reserved;  // the first after which reserved memory differs
    EventIndex compared = 0;             // how many events were looked at
    bool complete = false;               // to the end of the shorter one; else cancelled
};

// O(events) up to the first that differs in reserved memory; meant for a job.
Divergence find_divergence(const History& one, const History& other, const Cancelled& cancelled);

using report::Judgement;

// One figure of one run.
struct ComparedCell {
    std::string text;    // "8.30 GiB"
    std::string change;  // against the baseline: "1.71 GiB less (-20.6 %)"; "" for the baseline
                         // itself
    Judgement judgement = Judgement::none;
    bool best = false;  // no run has a better one, and some run a worse one
};

struct ComparedFigure {
    std::string name;  // "peak reserved"
    std::string meaning;
    std::vector<ComparedCell> cells;  // one for each run
};

// The figures from only a history: peaks, refusals, events. O(marks + log events).
std::vector<Measurement> history_figures(const History& history);

// A table of figures: those of the replays if every run has some, else those of the histories. The
// first run is the baseline. The caller leaves out runs without a history. O(runs * log events).
std::vector<ComparedFigure> compare_figures(std::span<const ViewedRun* const> runs);

}  // namespace tidemark::viz
