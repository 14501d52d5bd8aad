// SweepResult: a finished sweep, read back from its units, and the report about it: a heat map over
// two options, the Pareto front of memory against driver time, and a table. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/sweep/heat_map.h"
#include "replay/report/charts/plot.h"
#include "replay/report/forms/model.h"

namespace tidemark {

struct SweepResult {
    std::vector<SweptSetting> settings;  // best first
    std::vector<bool> front;             // of each: the Pareto front
    std::vector<SweepAxis> axes;
    bool over_tiers = false;  // then ratios are slowdowns, and times are stalls of streams
    std::size_t units = 0;
    std::size_t unchecked = 0;  // of these: without a checksum, as older versions wrote them
    std::size_t traces = 0;
    std::vector<std::string> failed;  // why units' policies could not be created
};

// `lines`: units as `tidemark sweep` writes them, a line each (unit_line.h), in any order; a unit
// that occurs twice counts once. Errors (bad_input, where = `name`:line): a line that isn't a
// unit; units over tiers among others; no unit. O(bytes + settings^2).
Result<SweepResult> read_sweep(std::string_view lines, const std::string& name);

// What is drawn, and its title.
struct SweepView {
    std::string title;
    HeatMap map;
    std::size_t top = 0;  // settings in the table, 0 = all
};

// The names of a setting's two figures.
std::string_view ratio_name(const SweepResult& sweep);
std::string_view time_name(const SweepResult& sweep);

Plot heat_map_plot(const SweepResult& sweep, const HeatMap& map);
Plot front_plot(const SweepResult& sweep);

// One page for any browser, without a script. The same input gives the same bytes.
std::string sweep_page(const SweepResult& sweep, const SweepView& view,
                       const Provenance& provenance);

// The same as lines of text.
std::string sweep_result_text(const SweepResult& sweep, const SweepView& view);

}  // namespace tidemark
