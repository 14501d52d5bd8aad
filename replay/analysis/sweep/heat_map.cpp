// Axes first, then the first setting of each cell: settings are ordered by rank.
#include "replay/analysis/sweep/heat_map.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

// The order of values: by amount if they have one, else by text.
using SortKey = std::pair<std::optional<double>, std::string>;

SortKey key_of(const std::string& value) {
    if (const Result<double> number = parse_real(value))
        return {*number, ""};
    if (const Result<Bytes> bytes = parse_bytes(value))
        return {static_cast<double>(*bytes), ""};
    return {std::nullopt, value};
}

bool comes_before(const std::string& left, const std::string& right) {
    const SortKey a = key_of(left);
    const SortKey b = key_of(right);
    if (a.first.has_value() != b.first.has_value())
        return a.first.has_value();
    return a < b;
}

const std::string* value_of(const SweptSetting& setting, const std::string& axis) {
    for (const auto& [name, value] : setting.values)
        if (name == axis)
            return &value;
    return nullptr;
}

// Which value of `axis` `setting` has; the only one there is if the axis has no name.
std::optional<std::size_t> index_on(const SweepAxis& axis, const SweptSetting& setting) {
    if (axis.name.empty())
        return 0;
    const std::string* const value = value_of(setting, axis.name);
    if (value == nullptr)
        return std::nullopt;
    const auto found = std::ranges::find(axis.values, *value);
    return static_cast<std::size_t>(found - axis.values.begin());
}

Result<SweepAxis> find_axis(std::span<const SweepAxis> axes, std::string_view name,
                            std::string_view other) {
    if (name.empty()) {
        const auto found =
            std::ranges::find_if(axes, [&](const SweepAxis& axis) { return axis.name != other; });
        return found == axes.end() ? SweepAxis{} : *found;
    }
    std::vector<std::string_view> names;
    for (const SweepAxis& axis : axes) {
        if (axis.name == name)
            return axis;
        names.push_back(axis.name);
    }
    const std::string_view near = nearest(name, names);
    return fail(ErrorCode::bad_option, fmt::format("the settings do not differ in '{}'", name), {},
                !near.empty()   ? fmt::format("did you mean '{}'?", near)
                : names.empty() ? "all settings are the same"
                                : fmt::format("they differ in {}", fmt::join(names, ", ")));
}

}  // namespace

std::vector<SweepAxis> sweep_axes(std::span<const SweptSetting> settings) {
    std::vector<SweepAxis> axes;
    std::set<std::pair<std::string, std::string>> seen;
    for (const SweptSetting& setting : settings) {
        for (const auto& [name, value] : setting.values) {
            if (!seen.emplace(name, value).second)
                continue;
            auto axis = std::ranges::find(axes, name, &SweepAxis::name);
            if (axis == axes.end())
                axis = axes.insert(axes.end(), {.name = name, .values = {}});
            axis->values.push_back(value);
        }
    }
    std::erase_if(axes, [](const SweepAxis& axis) { return axis.values.size() < 2; });
    for (SweepAxis& axis : axes)
        std::ranges::sort(axis.values, comes_before);
    std::ranges::stable_sort(axes, std::ranges::greater(),
                             [](const SweepAxis& axis) { return axis.values.size(); });
    return axes;
}

Result<HeatMap> make_heat_map(std::span<const SweptSetting> settings,
                              std::span<const SweepAxis> axes, std::string_view across,
                              std::string_view down) {
    HeatMap map;
    TM_ASSIGN(map.across, find_axis(axes, across, down));
    TM_ASSIGN(map.down, find_axis(axes, down, map.across.name));
    if (map.across.name.empty())
        return map;
    const std::size_t columns = map.across.values.size();
    map.cells.resize(map.rows() * columns);
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const auto x = index_on(map.across, settings[i]);
        const auto y = index_on(map.down, settings[i]);
        map.left_out += x && y ? 0U : 1U;
        if (x && y && !map.cells[*y * columns + *x])
            map.cells[*y * columns + *x] = i;
    }
    return map;
}

}  // namespace tidemark
