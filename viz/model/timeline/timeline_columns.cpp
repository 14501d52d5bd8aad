// What is requested of a history, and the layers of a column.
#include "viz/model/timeline/timeline_columns.h"

#include <algorithm>

namespace tidemark::viz {
namespace {

Bytes beyond_requested(const SeriesValues& values) {
    const Bytes active = std::max(values[Series::active], values[Series::allocated]);
    return active - std::min(active, values[Series::requested]);
}

}  // namespace

IdleMemory idle_of(const SeriesValues& values, const FragmentationCurve* curve, EventIndex event) {
    const Bytes reserved = values[Series::reserved];
    IdleMemory idle{reserved - std::min(reserved, values[Series::active]), std::nullopt};
    if (curve == nullptr || event >= curve->events())
        return idle;
    idle.fragmentation = std::min(curve->fragmentation(event), idle.cached);
    idle.cached -= *idle.fragmentation;
    return idle;
}

std::optional<Bytes> rounding_of(const SeriesValues& values) {
    if (values[Series::active] > values[Series::allocated])
        return std::nullopt;
    return beyond_requested(values);
}

ColumnLayers layers_of(const SeriesColumn& column, Bytes held) {
    const bool sharp = column.events <= kSharpEvents;
    const SeriesValues& low = sharp ? column.max : column.min;
    ColumnLayers layers;
    layers.allocated = low[Series::allocated];
    layers.requested = layers.allocated - std::min(layers.allocated, beyond_requested(low));
    layers.swing = std::max(layers.allocated, column.max[Series::allocated]);
    layers.waiting = std::max(layers.swing, column.max[Series::active]);
    layers.cached = std::max(layers.waiting, column.min[Series::reserved]);
    layers.fragmentation = std::clamp(held, layers.waiting, layers.cached);
    layers.reserved = std::max(layers.cached, column.max[Series::reserved]);
    return layers;
}

Bytes highest(std::span<const SeriesColumn> columns, Series series) {
    Bytes most = 0;
    for (const SeriesColumn& column : columns)
        most = std::max(most, column.max[series]);
    return most;
}

std::span<const SeriesColumn> TimelineColumns::look(const std::shared_ptr<const History>& history,
                                                    AxisUnit unit, const Window& window,
                                                    std::size_t columns) {
    const std::size_t events = history->counts().events;
    const bool same = history_ == history && events_ == events && window_ == window &&
                      unit_ == unit && columns_.size() == columns;
    if (same)
        return columns_;
    columns_.resize(columns);
    history->series(unit, window.begin, window.end, columns_);
    history_ = history;
    events_ = events;
    window_ = window;
    unit_ = unit;
    ++requests_;
    return columns_;
}

}  // namespace tidemark::viz
