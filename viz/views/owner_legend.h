// OwnerLegend: what the owners of memory are called and drawn in, the same in all views that show
// them over time, with what each holds at the moment that is looked at.
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

    // Of what is not shown as well.
    Colour colour(std::size_t owner) const;
    std::string name(std::size_t owner) const;

    // The filter means this owner alone.
    bool is_meant(const Filter& filter, std::size_t owner) const;

    // From now on it does, or no longer. Nothing for what no filter means.
    void toggle(Filter& filter, std::size_t owner) const;

    // Entries toggle their owners, and the last one, series.owners(), the line of what is reserved.
    // In at most a share of the height: owners that hold less for long have no entry in low
    // windows.
    TimelineLegend fitting(Frame& frame, const Box& across, bool shows_reserved) const;

  private:
    std::vector<LegendEntry> entries(Frame& frame, bool shows_reserved) const;

    std::shared_ptr<const OwnerSeries> series_;
    std::unique_ptr<MapPaint> paint_;
    const Theme* theme_ = nullptr;
};

}  // namespace tidemark::viz
