// BandStack: bands of blocks stacked over time, as pixels; names within those that are wide and
// high enough; and the piece under a point.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viz/model/memory/block_bands.h"
#include "viz/views/map_paint.h"
#include "viz/views/timeline_plot.h"

namespace tidemark::viz {

// What is painted, and where.
struct BandScene {
    std::shared_ptr<const BlockBands> shown;  // sharp if its look is the window's; null: nothing
    std::shared_ptr<const BlockBands> wide;   // for the parts outside of it
    Window window;
    ByteScale scale;
    std::size_t until = 0;  // columns behind these are after the run's end
    float line = 1;         // height of a name

    friend bool operator==(const BandScene& a, const BandScene& b) {
        const Box& at = a.scale.box;
        const Box& other = b.scale.box;
        return a.shown == b.shown && a.wide == b.wide && a.window == b.window &&
               a.scale.top == b.scale.top && a.scale.low == b.scale.low && at.left == other.left &&
               at.top == other.top && at.right == other.right && at.bottom == other.bottom &&
               a.until == b.until && a.line == b.line;
    }
};

class BandStack {
  public:
    // The owner or band of a piece of a column.
    struct Hit {
        std::shared_ptr<const BlockBands> bands;
        std::size_t column = 0;  // of these
        BandSlice slice;
    };

    // The pixels of a scene. O(pixels).
    void paint(const Theme& theme, const MapPaint& paint, const BandScene& scene);

    void draw(Canvas& canvas) const { canvas.image(scene_.scale.box, bitmap_); }

    // Writes names into pieces that are wide and high enough for them, on the colour of the piece.
    // `name` gives the name, which is cut where there is no room.
    void draw_names(Canvas& canvas, const std::function<std::string(const BandSlice&)>& name,
                    const std::function<std::string(const BandSlice&)>& size) const;

    // Draws a line around each block along its band; nothing if it has none. O(slices).
    void outline(Canvas& canvas, std::span<const BlockIndex> blocks, Colour colour) const;

    // What is at a point of the last scene, for very thin pieces the nearest; none above them all.
    std::optional<Hit> at(ImVec2 point) const;

    Colour colour_of(const BlockBands& bands, const BandSlice& slice) const;

  private:
    // Of a band: columns in which it has one height.
    struct Piece {
        float left = 0;
        float right = 0;
        float top = 0;
        float bottom = 0;
    };

    // A rectangle inside a piece, over as many columns as it goes on.
    struct Room {
        std::uint32_t left = 0;
        std::uint32_t right = 0;
        std::int32_t top = 0;
        std::int32_t bottom = 0;

        std::uint32_t width() const { return right - left; }
    };

    struct Rooms {
        BandSlice slice;
        Room now;
        Room best;
    };

    const std::shared_ptr<const BlockBands>& source_at(std::size_t x, std::size_t& column) const;
    void paint_column(std::size_t x, const BlockBands& bands, std::span<const BandSlice> slices,
                      std::optional<std::size_t> begun);
    void note_room(Rooms& rooms, const BandSlice& slice, std::uint32_t x, std::int32_t top,
                   std::int32_t bottom) const;
    Rooms& rooms_of(const BandSlice& slice);
    std::int32_t row_of(Bytes bytes) const;
    std::vector<std::vector<Piece>> pieces_of(std::span<const std::uint32_t> bands) const;
    static void outline(Canvas& canvas, std::span<const Piece> pieces, Colour colour);

    BandScene scene_;
    const MapPaint* paint_ = nullptr;
    Colour ground_ = 0;
    Colour hidden_ = 0;
    Colour before_ = 0;
    std::vector<Colour> columns_;  // pixels, column by column from the top
    std::vector<Rooms> rooms_;     // of the shown bands: what was before, each owner, each band
    Bitmap bitmap_;
};

}  // namespace tidemark::viz
