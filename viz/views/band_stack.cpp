// Paints bands, finds room for names, and finds the band under a point.
#include "viz/views/band_stack.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "replay/timeline/column_edge.h"

namespace tidemark::viz {
namespace {

constexpr std::int32_t kBandEdgedFrom = 3;  // pixels of height from which on a band has an edge
constexpr std::uint32_t kBandWideFrom = 4;  // columns from which on it has one at its start
constexpr double kBandEdge = 0.5;           // how much of the ground is in it
constexpr double kBandRestFaint = 0.45;     // the same for what is summed
constexpr std::size_t kBandNameLeast = 10;  // letters for which a name needs room
constexpr float kBandNamePad = 4;           // points
constexpr std::size_t kBandTile = 16;       // pixels

// Rows of columns that lie one after the other, as a bitmap has them: tile by tile, so that both
// stay in the cache.
void turn(const std::vector<Colour>& columns, Bitmap& bitmap) {
    const std::size_t width = bitmap.width;
    const std::size_t height = bitmap.height;
    for (std::size_t left = 0; left < width; left += kBandTile) {
        const std::size_t right = std::min(width, left + kBandTile);
        for (std::size_t top = 0; top < height; top += kBandTile) {
            const std::size_t bottom = std::min(height, top + kBandTile);
            for (std::size_t y = top; y < bottom; ++y) {
                for (std::size_t x = left; x < right; ++x)
                    bitmap.pixels[y * width + x] = columns[x * height + y];
            }
        }
    }
}

}  // namespace

std::int32_t BandStack::row_of(Bytes bytes) const {
    const float y =
        std::clamp(scene_.scale.y(bytes), scene_.scale.box.top, scene_.scale.box.bottom);
    return static_cast<std::int32_t>(y - scene_.scale.box.top);
}

Colour BandStack::colour_of(const BlockBands& bands, const BandSlice& slice) const {
    if (slice.kind == BandSlice::Kind::before)
        return before_;
    const std::size_t not_shown = bands.series->not_shown();
    if (slice.kind == BandSlice::Kind::band) {
        const BlockBand& band = bands.bands[slice.index];
        return band.owner == not_shown ? mix(hidden_, ground_, 0.12 * shade_of(band.block))
                                       : paint_->block(band.owner, band.block);
    }
    const Colour colour =
        slice.index == not_shown ? hidden_ : paint_->block(static_cast<std::uint8_t>(slice.index));
    return mix(colour, ground_, kBandRestFaint);
}

// The answer whose column is at a pixel: the sharper one's, where it has one.
const std::shared_ptr<const BlockBands>& BandStack::source_at(std::size_t x,
                                                              std::size_t& column) const {
    static const std::shared_ptr<const BlockBands> kNone;
    const Position position = column_edge(scene_.window.begin, scene_.window.end, x, bitmap_.width);
    for (const auto* bands : {&scene_.shown, &scene_.wide}) {
        const auto at = *bands == nullptr ? std::nullopt : (*bands)->column_at(position);
        if (at && (*bands)->moments[*at] != kNever) {
            column = *at;
            return *bands;
        }
    }
    return kNone;
}

void BandStack::paint(const Theme& theme, const MapPaint& paint, const BandScene& scene) {
    scene_ = scene;
    paint_ = &paint;
    ground_ = theme.plot;
    hidden_ = mix(theme.plot, theme.text, 0.2);
    before_ = mix(theme.plot, theme.text, 0.34);
    bitmap_.width = static_cast<std::uint32_t>(std::max(1.0F, scene.scale.box.width()));
    bitmap_.height = static_cast<std::uint32_t>(std::max(1.0F, scene.scale.box.height()));
    bitmap_.pixels.resize(std::size_t{bitmap_.width} * bitmap_.height);
    bitmap_.revision = next_bitmap_revision();
    columns_.assign(bitmap_.pixels.size(), 0);
    rooms_.clear();
    if (scene_.shown == nullptr)
        return turn(columns_, bitmap_);
    rooms_.resize(1 + scene_.shown->series->owners() + scene_.shown->bands.size());
    BandSweep shown(*scene_.shown);
    BandSweep wide(*scene_.wide);
    const BlockBands* last_source = nullptr;
    std::size_t last_column = 0;
    const std::size_t until = std::min<std::size_t>(scene.until, bitmap_.width);
    for (std::size_t x = 0; x < until; ++x) {
        std::size_t column = 0;
        const BlockBands* const source = source_at(x, column).get();
        if (source == nullptr)
            continue;
        const bool begins = source != last_source || column != last_column;
        BandSweep& sweep = source == scene_.shown.get() ? shown : wide;
        paint_column(x, *source, sweep.at(column), begins ? std::optional(column) : std::nullopt);
        last_source = source;
        last_column = column;
    }
    for (Rooms& rooms : rooms_) {
        if (rooms.now.width() > rooms.best.width())
            rooms.best = rooms.now;
    }
    turn(columns_, bitmap_);
}

// `begun`: the column of `bands` whose first pixel this is.
void BandStack::paint_column(std::size_t x, const BlockBands& bands,
                             std::span<const BandSlice> slices, std::optional<std::size_t> begun) {
    Colour* const pixels = &columns_[x * bitmap_.height];
    for (const BandSlice& slice : slices) {
        const std::int32_t top = row_of(slice.high);
        const std::int32_t bottom = row_of(slice.low);
        if (top >= bottom)
            continue;
        const Colour colour = colour_of(bands, slice);
        const bool edged = bottom - top >= kBandEdgedFrom;
        bool is_left = false;
        if (begun && edged && slice.kind == BandSlice::Kind::band) {
            const BlockBand& band = bands.bands[slice.index];
            is_left = *begun == band.first && band.last - band.first >= kBandWideFrom;
        }
        const Colour edge = edged ? mix(colour, ground_, kBandEdge) : colour;
        std::fill(pixels + top, pixels + bottom, is_left ? edge : colour);
        pixels[top] = edge;
        if (&bands == scene_.shown.get())
            note_room(rooms_of(slice), slice, static_cast<std::uint32_t>(x), top + (edged ? 1 : 0),
                      bottom);
    }
}

BandStack::Rooms& BandStack::rooms_of(const BandSlice& slice) {
    const std::size_t owners = scene_.shown->series->owners();
    return rooms_[slice.kind == BandSlice::Kind::before ? 0
                  : slice.kind == BandSlice::Kind::rest ? 1 + slice.index
                                                        : 1 + owners + slice.index];
}

// The room continues as long as a line of text fits into the height that all of its columns share.
void BandStack::note_room(Rooms& rooms, const BandSlice& slice, std::uint32_t x, std::int32_t top,
                          std::int32_t bottom) const {
    const auto fits = [&](std::int32_t above, std::int32_t below) {
        return static_cast<float>(below - above) >= scene_.line;
    };
    Room& now = rooms.now;
    const std::int32_t common_top = std::max(now.top, top);
    const std::int32_t common_bottom = std::min(now.bottom, bottom);
    if (now.right == x && now.width() > 0 && fits(common_top, common_bottom)) {
        now = {now.left, x + 1, common_top, common_bottom};
        return;
    }
    if (now.width() > rooms.best.width())
        rooms.best = now;
    rooms.slice = slice;
    now = fits(top, bottom) ? Room{x, x + 1, top, bottom} : Room{};
}

void BandStack::draw_names(Canvas& canvas, const std::function<std::string(const BandSlice&)>& name,
                           const std::function<std::string(const BandSlice&)>& size) const {
    const float pad = canvas.px(kBandNamePad);
    const float line = canvas.line_height();
    const float least = canvas.text_width(std::string(kBandNameLeast, 'm')) + 2 * pad;
    for (const Rooms& rooms : rooms_) {
        const Room& room = rooms.best;
        if (static_cast<float>(room.width()) < least)
            continue;
        const Box& plot = scene_.scale.box;
        const Box inside{plot.left + static_cast<float>(room.left) + pad,
                         plot.top + static_cast<float>(room.top),
                         plot.left + static_cast<float>(room.right) - pad,
                         plot.top + static_cast<float>(room.bottom)};
        const Colour colour = colour_of(*scene_.shown, rooms.slice);
        const Colour ink = MapPaint::text_on(colour);
        const std::string first = name(rooms.slice);
        const std::string second = size(rooms.slice);
        const float middle = std::round((inside.top + inside.bottom) / 2);
        const auto write = [&](const std::string& text, float top) {
            const float wide = std::min(canvas.text_width(text), inside.width());
            canvas.fill({inside.left - 1, std::max(top, inside.top), inside.left + wide + 1,
                         std::min(top + line, inside.bottom)},
                        colour);
            canvas.text_within({inside.left, top, inside.right, top + line}, text, ink);
        };
        if (!first.empty() && !second.empty() && inside.height() >= 2 * line) {
            write(first, middle - line);
            write(second, middle);
        } else {
            const bool both = !first.empty() && !second.empty();
            write(both ? second + "  " + first : first + second, std::round(middle - line / 2));
        }
    }
}

void BandStack::outline(Canvas& canvas, std::span<const BlockIndex> blocks, Colour colour) const {
    if (scene_.shown == nullptr || blocks.empty())
        return;
    std::vector<std::uint32_t> bands;
    for (const BlockIndex block : blocks) {
        if (const BlockBand* const band = scene_.shown->band_of(block))
            bands.push_back(static_cast<std::uint32_t>(band - scene_.shown->bands.data()));
    }
    std::ranges::sort(bands);
    for (const std::vector<Piece>& pieces : pieces_of(bands))
        outline(canvas, pieces, colour);
}

// Of bands in rising order.
std::vector<std::vector<BandStack::Piece>> BandStack::pieces_of(
    std::span<const std::uint32_t> bands) const {
    std::vector<std::vector<Piece>> all(bands.size());
    std::uint32_t first = ~0U;
    std::uint32_t last = 0;
    for (const std::uint32_t band : bands) {
        first = std::min(first, scene_.shown->bands[band].first);
        last = std::max(last, scene_.shown->bands[band].last);
    }
    const Box& plot = scene_.scale.box;
    BandSweep sweep(*scene_.shown);
    const std::size_t until = std::min<std::size_t>(scene_.until, bitmap_.width);
    for (std::size_t x = 0; x < until; ++x) {
        std::size_t column = 0;
        if (source_at(x, column) != scene_.shown || column < first || column >= last)
            continue;
        for (const BandSlice& slice : sweep.at(column)) {
            const auto found = std::ranges::lower_bound(bands, slice.index);
            if (slice.kind != BandSlice::Kind::band || found == bands.end() ||
                *found != slice.index)
                continue;
            std::vector<Piece>& pieces = all[static_cast<std::size_t>(found - bands.begin())];
            const float left = plot.left + static_cast<float>(x);
            const Piece piece{left, left + 1, plot.top + static_cast<float>(row_of(slice.high)),
                              plot.top + static_cast<float>(row_of(slice.low))};
            if (!pieces.empty() && pieces.back().right == left && pieces.back().top == piece.top &&
                pieces.back().bottom == piece.bottom)
                pieces.back().right = left + 1;
            else
                pieces.push_back(piece);
        }
    }
    return all;
}

void BandStack::outline(Canvas& canvas, std::span<const Piece> pieces, Colour colour) {
    const auto upright = [&](float x, float a, float b) {
        canvas.fill({x - 1, std::min(a, b) - 1, x + 1, std::max(a, b) + 1}, colour);
    };
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = pieces[i];
        canvas.fill({piece.left, piece.top - 1, piece.right, piece.top + 1}, colour);
        canvas.fill({piece.left, piece.bottom - 1, piece.right, piece.bottom + 1}, colour);
        if (i > 0 && pieces[i - 1].right == piece.left) {
            upright(piece.left, pieces[i - 1].top, piece.top);
            upright(piece.left, pieces[i - 1].bottom, piece.bottom);
        } else {
            upright(piece.left, piece.top, piece.bottom);
        }
        if (i + 1 == pieces.size() || pieces[i + 1].left != piece.right)
            upright(piece.right, piece.top, piece.bottom);
    }
}

std::optional<BandStack::Hit> BandStack::at(ImVec2 point) const {
    const Box& plot = scene_.scale.box;
    const float x = point.x - plot.left;
    if (scene_.shown == nullptr || x < 0 || x >= static_cast<float>(bitmap_.width) ||
        static_cast<std::size_t>(x) >= scene_.until)
        return std::nullopt;
    Hit hit;
    hit.bands = source_at(static_cast<std::size_t>(x), hit.column);
    if (hit.bands == nullptr)
        return std::nullopt;
    const auto row = static_cast<std::int32_t>(std::floor(point.y - plot.top));
    BandSweep sweep(*hit.bands);
    for (const BandSlice& slice : sweep.at(hit.column)) {
        if (row < row_of(slice.low) && row >= row_of(slice.high)) {
            hit.slice = slice;
            return hit;
        }
    }
    return std::nullopt;
}

}  // namespace tidemark::viz
