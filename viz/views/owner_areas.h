// OwnerAreas: owners' memory as areas stacked over time, one pixel column after the other, and
// names within those that are wide enough.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/timeline/owner_series.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {

class OwnerAreas {
  public:
    // `bytes` are `owners` numbers for each column, side by side from the plot's left. Valid as
    // long as they are.
    OwnerAreas(std::span<const Bytes> bytes, std::size_t owners) : bytes_(bytes), owners_(owners) {}

    std::size_t columns() const { return owners_ == 0 ? 0 : bytes_.size() / owners_; }

    // All owners together, at most; 0 without columns. O(columns * owners).
    Bytes highest() const;

    // The first owner is at the bottom. O(columns * owners).
    void draw(Canvas& canvas, const ByteScale& scale,
              const std::function<Colour(std::size_t owner)>& colour) const;

    // Writes the names into their areas, where these are highest over the width of the name, if
    // they are at least a line high. O(columns * owners).
    void draw_names(Canvas& canvas, const ByteScale& scale,
                    const std::function<std::string(std::size_t owner)>& name,
                    const std::function<Colour(std::size_t owner)>& colour) const;

    // Whose area is at a point of the plot; none above them all.
    std::optional<std::size_t> at(const ByteScale& scale, ImVec2 point) const;

  private:
    // A rectangle inside an area.
    struct Room {
        float left = 0;
        float top = 0;
        float bottom = 0;
    };

    Room highest_room(const ByteScale& scale, std::size_t owner, std::size_t width) const;
    Bytes below(std::size_t column, std::size_t owner) const;

    std::span<const Bytes> bytes_;
    std::size_t owners_ = 0;
};

}  // namespace tidemark::viz
