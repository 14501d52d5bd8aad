// Stacks areas, and finds room for names.
#include "viz/views/owner_areas.h"

#include <algorithm>
#include <cmath>

#include "viz/views/map_paint.h"

namespace tidemark::viz {
namespace {

constexpr float kAreaNamePad = 6;         // points at both ends of a name
constexpr std::size_t kAreaNameStep = 8;  // columns
constexpr float kAreaEdgedFrom = 4;       // pixels of height from which on an area has an edge
constexpr double kAreaEdge = 0.35;        // how much of the ground is in it

}  // namespace

Bytes OwnerAreas::below(std::size_t column, std::size_t owner) const {
    Bytes sum = 0;
    for (std::size_t i = 0; i < owner; ++i)
        sum += bytes_[column * owners_ + i];
    return sum;
}

Bytes OwnerAreas::highest() const {
    Bytes most = 0;
    for (std::size_t column = 0; column < columns(); ++column)
        most = std::max(most, below(column, owners_));
    return most;
}

void OwnerAreas::draw(Canvas& canvas, const ByteScale& scale,
                      const std::function<Colour(std::size_t owner)>& colour) const {
    std::vector<Bytes> low(columns());
    for (std::size_t owner = 0; owner < owners_; ++owner) {
        const Colour inside = colour(owner);
        const Colour edge = mix(inside, canvas.theme().plot, kAreaEdge);
        BandPainter areas(canvas, scale.box.left);
        BandPainter edges(canvas, scale.box.left);
        for (std::size_t column = 0; column < columns(); ++column) {
            const Bytes bytes = bytes_[column * owners_ + owner];
            const float bottom = scale.y(low[column]);
            low[column] += bytes;
            const float top = scale.y(low[column]);
            const bool edged = bottom - top >= kAreaEdgedFrom;
            if (bottom > top)
                areas.column(column, edged ? top + 1 : top, bottom, inside);
            if (edged)
                edges.column(column, top, top + 1, edge);
        }
    }
}

// Rectangles as wide as that many columns, one every few columns.
OwnerAreas::Room OwnerAreas::highest_room(const ByteScale& scale, std::size_t owner,
                                          std::size_t width) const {
    struct Inside {
        float top = 0;
        float bottom = 0;
    };

    std::vector<Inside> steps;  // of kAreaNameStep columns each: the height range that all of them
                                // share
    for (std::size_t column = 0; column < columns(); ++column) {
        const Bytes low = below(column, owner);
        const Inside here{scale.y(low + bytes_[column * owners_ + owner]), scale.y(low)};
        if (column % kAreaNameStep == 0)
            steps.push_back(here);
        steps.back().top = std::max(steps.back().top, here.top);
        steps.back().bottom = std::min(steps.back().bottom, here.bottom);
    }
    Room best;
    const std::size_t wide = width / kAreaNameStep + 1;
    for (std::size_t first = 0; first + wide <= steps.size(); ++first) {
        Inside common = steps[first];
        for (std::size_t i = first + 1; i < first + wide && common.bottom > common.top; ++i) {
            common.top = std::max(common.top, steps[i].top);
            common.bottom = std::min(common.bottom, steps[i].bottom);
        }
        if (common.bottom - common.top > best.bottom - best.top)
            best = {scale.box.left + static_cast<float>(first * kAreaNameStep), common.top,
                    common.bottom};
    }
    return best;
}

void OwnerAreas::draw_names(Canvas& canvas, const ByteScale& scale,
                            const std::function<std::string(std::size_t owner)>& name,
                            const std::function<Colour(std::size_t owner)>& colour) const {
    const float pad = canvas.px(kAreaNamePad);
    for (std::size_t owner = 0; owner < owners_; ++owner) {
        const std::string text = name(owner);
        const float width = canvas.text_width(text) + 2 * pad;
        const Room room = highest_room(scale, owner, static_cast<std::size_t>(width));
        if (room.bottom - room.top < canvas.line_height() + 2)
            continue;
        canvas.text(
            {room.left + pad, std::round((room.top + room.bottom - canvas.line_height()) / 2)},
            text, MapPaint::text_on(colour(owner)));
    }
}

std::optional<std::size_t> OwnerAreas::at(const ByteScale& scale, ImVec2 point) const {
    const float from_left = point.x - scale.box.left;
    if (from_left < 0 || static_cast<std::size_t>(from_left) >= columns())
        return std::nullopt;
    const auto column = static_cast<std::size_t>(from_left);
    Bytes low = 0;
    for (std::size_t owner = 0; owner < owners_; ++owner) {
        const Bytes high = low + bytes_[column * owners_ + owner];
        if (point.y < scale.y(low) && point.y >= scale.y(high))
            return owner;
        low = high;
    }
    return std::nullopt;
}

}  // namespace tidemark::viz
