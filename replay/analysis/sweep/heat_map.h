// A sweep's results over two of its options: for each pair of values the best setting that has
// both, whatever its other options are. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/sweep/sweep.h"

namespace tidemark {

// A setting with its result. `values` are everything that distinguishes it from others, by name:
// "policy", the policy's options, and what the machine is.
struct SweptSetting {
    std::string policy;
    std::vector<std::pair<std::string, std::string>> values;
    SettingScore score;
};

struct SweepAxis {
    std::string name;
    std::vector<std::string> values;  // numbers and sizes by how much they are, then texts
};

// The axes in which the settings differ, those with most values first, else in the settings' order.
// A setting may lack an axis: options of another policy. O(settings * values log).
std::vector<SweepAxis> sweep_axes(std::span<const SweptSetting> settings);

struct HeatMap {
    SweepAxis across;
    SweepAxis down;                                 // without values: one row
    std::vector<std::optional<std::size_t>> cells;  // row by row: the best one's number
    std::size_t left_out = 0;                       // settings that lack one of the axes

    std::size_t rows() const { return down.name.empty() ? 1 : down.values.size(); }
};

// `settings` are in the order of rank_settings(). `across` and `down` name axes; "": the one with
// most values that is not the other. Empty if there is no axis. Errors (bad_option): a name that is
// not an axis, with the nearest.
Result<HeatMap> make_heat_map(std::span<const SweptSetting> settings,
                              std::span<const SweepAxis> axes, std::string_view across,
                              std::string_view down);

}  // namespace tidemark
