// AddressMap: addresses downwards, time to the right; the view of that name, and one of the two in
// the view that puts two maps side by side.
#pragma once

#include <memory>
#include <optional>

#include "viz/draw/time_area.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/memory/map_tiles.h"
#include "viz/views/hover_card.h"
#include "viz/views/map_paint.h"
#include "viz/views/row_names.h"
#include "viz/views/view.h"

namespace tidemark::viz {

// How a map differs from the one that has a view to itself.
struct AddressMapLooks {
    bool has_head = true;  // colours to choose from, and their meaning
    RowOrder order = RowOrder::address;
    Bytes length = 0;               // how many addresses the height covers; 0 = its own
    std::optional<Position> until;  // nothing is shown of later events
};

class AddressMap final : public View {
  public:
    void draw(Frame& frame) override;

    bool busy() const override { return tiles_.busy(); }

    // The legend of the colours between blocks, right-aligned in one line; nothing until it is
    // known.
    void draw_legend(Canvas& canvas, const Box& box) const;

    // Of the addresses that it shows; 0 until they are known.
    Bytes length() const;

    const Box& plot() const { return plot_; }

    AddressMapLooks looks;

  private:
    void lay_out(Frame& frame);
    void take_wheel(Frame& frame);
    void drag_addresses(Frame& frame);
    void draw_head(Frame& frame);
    void draw_map(Frame& frame, const TimeArea& area);
    void cover_future(Canvas& canvas, const TimeArea& area) const;
    void paint_bitmap(const Theme& theme);
    void draw_blocks(Frame& frame, const TimeArea& area);
    void draw_block_label(Canvas& canvas, const Box& box, const MapBlock& shown);
    void outline_block(Frame& frame, const TimeArea& area, BlockIndex block, Colour colour);
    void hover(Frame& frame, const TimeArea& area);
    HoverCard card(EventIndex event, Bytes offset, BlockIndex block);
    void zoom_to(Frame& frame, BlockIndex block);
    void reveal(Frame& frame, BlockIndex block);

    MapTiles tiles_;
    Bitmap bitmap_;
    std::uint64_t painted_ = 0;
    const Theme* painted_theme_ = nullptr;
    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    std::unique_ptr<MapPaint> paint_;
    Box head_;
    Box plot_;
    Box across_;  // the same of the time axis: lower, if the map doesn't fill its height
    OffsetScale scale_;
    BlockTrait trait_ = BlockTrait::tag;
};

}  // namespace tidemark::viz
