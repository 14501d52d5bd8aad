// OwnerLegend: the names and colours of memory's owners, the same in all views that show them over
// time, with what each holds at the moment that is looked at.
#pragma once

#include <memory>
#include <string>

#include "replay/timeline/owner_series.h"
#include "viz/views/map_paint.h"
#include "viz/views/timeline_legend.h"

namespace tidemark::viz {

class OwnerLegend {
  public:
    // Of whose owners it is, each frame. Colours are those of the map, so that an owner has one.
    void follow(const Theme& theme, const std::shared_ptr<const OwnerSeries>& series);

    const MapPaint& paint() const { return *paint_; }

    // Also of owners that are not shown.
    Colour colour(std::size_t owner) const;
    std::string name(std::size_t owner) const;

    // The filter selects only this owner.
    bool is_meant(const Filter& filter, std::size_t owner) const;

    // Selects it, or no longer does. Does nothing for owners that no filter selects.
    void toggle(Filter& filter, std::size_t owner) const;

    // Entries toggle their owners, and the last one, series.owners(), the line of reserved memory.
    // Takes at most a share of the height: owners that hold less over time have no entry in low
    // windows.
    TimelineLegend fitting(Frame& frame, const Box& across, bool shows_reserved) const;

  private:
    std::vector<LegendEntry> entries(Frame& frame, bool shows_reserved) const;

    std::shared_ptr<const OwnerSeries> series_;
    std::unique_ptr<MapPaint> paint_;
    const Theme* theme_ = nullptr;
};

}  // namespace tidemark::viz
