// The address map: addresses downwards, time to the right. Each block is drawn where it was as long
// as it was live; the gaps between blocks are fragmentation.
#include "viz/views/address_map.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/session/moment.h"
#include "viz/views/address_ruler.h"
#include "viz/views/inspection.h"

namespace tidemark::viz {
namespace {

constexpr float kAddressMapHeadPad = 4;  // points about each line of the head
constexpr float kLeastBlock = 3;         // pixels both ways from which on a block is drawn alone
constexpr float kLabelWide = 64;         // points from which on it shows its name
constexpr float kPickReach = 4;          // pixels
constexpr double kAddressMapWheelStep = 1.25;  // as over the time axis

// Why the colours differ from the requested ones; empty if they don't.
std::string_view missing_trait(ColourBy wanted, BlockTrait shown) {
    if (wanted == ColourBy::tag && shown != BlockTrait::tag)
        return "No tags were recorded:";
    if (wanted == ColourBy::stack && shown != BlockTrait::stack)
        return "No stacks were recorded:";
    return {};
}

}  // namespace

Bytes AddressMap::length() const {
    const MapGround* const ground = tiles_.ground();
    return ground == nullptr ? 0 : ground->layout.length();
}

void AddressMap::draw(Frame& frame) {
    if (follow_shown(frame, history_, names_) == Shown::nothing) {
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        const bool tiers = run != nullptr && run->tiers;
        draw_notice(frame.canvas, frame.area,
                    tiers ? "A run over tiers has no addresses" : "Nothing to map yet",
                    tiers ? "Open the trace without --machine, --gpu-memory or --spill to see "
                            "where its blocks are."
                          : "The map appears while the run is loaded.");
        return;
    }
    trait_ = shown_trait(*history_, frame.selection.colour_by);
    lay_out(frame);
    const auto pixels = [](float length) {
        return static_cast<std::uint32_t>(std::max(1.0F, std::floor(length)));
    };
    take_wheel(frame);
    const TimeArea area(frame, across_, "address-map");
    drag_addresses(frame);
    tiles_.look(history_, {frame.camera.unit(), frame.camera.window(), frame.camera.addresses(),
                           pixels(plot_.width()), pixels(plot_.height()), trait_,
                           frame.selection.filter, looks.order});
    if (frame.still)
        tiles_.finish();
    draw_map(frame, area);
}

void AddressMap::lay_out(Frame& frame) {
    const Canvas& canvas = frame.canvas;
    const float line = canvas.line_height() + 2 * canvas.px(kAddressMapHeadPad);
    plot_ = plot_box(canvas, frame.area);
    const float head = looks.has_head ? 2 * line : 0;
    head_ = {plot_.left, frame.area.top, plot_.right, frame.area.top + head};
    plot_.top = std::round(head_.bottom);
    plot_.bottom = std::max(plot_.top + 1, frame.area.bottom - TimeArea::axis_height(canvas));
    plot_.bottom = std::round(plot_.bottom);
    across_ = plot_;
    if (looks.length > 0 && length() > 0) {
        const double share = share_of(std::min(length(), looks.length), looks.length);
        const float high = plot_.height() * static_cast<float>(share);
        plot_.bottom = std::round(plot_.top + std::max(high, 1.0F));
    }
}

// Over the labels the wheel zooms the addresses, and with Ctrl over the map as well.
void AddressMap::take_wheel(Frame& frame) {
    if (frame.still)
        return;
    ImGuiIO& io = ImGui::GetIO();
    const Box margin{frame.area.left, plot_.top, plot_.left, plot_.bottom};
    const bool over_labels = margin.contains(io.MousePos);
    if (io.MouseWheel == 0 ||
        !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        return;
    if (!over_labels && !(io.KeyCtrl && plot_.contains(io.MousePos)))
        return;
    const AddressWindow& seen = frame.camera.addresses();
    const double share =
        static_cast<double>((io.MousePos.y - plot_.top) / std::max(plot_.height(), 1.0F));
    frame.camera.zoom_addresses(std::pow(kAddressMapWheelStep, -static_cast<double>(io.MouseWheel)),
                                seen.begin + share * (seen.end - seen.begin));
    io.MouseWheel = 0;  // or the time axis would take it too
}

void AddressMap::drag_addresses(Frame& frame) {
    if (frame.still || !frame.selection.grabbed || !ImGui::IsItemActive())
        return;
    const ImGuiIO& io = ImGui::GetIO();
    if (io.MouseDelta.y != 0 && !io.KeyShift)
        frame.camera.pan_addresses(
            -static_cast<double>(io.MouseDelta.y / std::max(plot_.height(), 1.0F)));
}

void AddressMap::draw_head(Frame& frame) {
    if (!looks.has_head)
        return;
    Canvas& canvas = frame.canvas;
    const float pad = canvas.px(kAddressMapHeadPad);
    const float line = canvas.line_height() + 2 * pad;
    const float end = draw_colour_choice(frame, head_.left, head_.top + pad / 2, trait_);
    const MapGround* ground = tiles_.ground();
    if (ground == nullptr || !paint_)
        return;
    draw_legend(canvas, {end + canvas.px(24), head_.top + pad, head_.right, head_.bottom});
    Box classes{head_.left, head_.top + line + pad, head_.right, head_.bottom};
    if (const std::string_view why = missing_trait(frame.selection.colour_by, trait_); !why.empty())
        classes.left += canvas.text({classes.left, classes.top}, why, canvas.theme().faint_text) +
                        canvas.px(10);
    draw_class_legend(canvas, classes, *paint_, ground->classes);
}

void AddressMap::draw_legend(Canvas& canvas, const Box& box) const {
    const MapGround* ground = tiles_.ground();
    if (ground == nullptr || !paint_)
        return;
    const std::vector<AddressRow>& rows = ground->layout.rows();
    const bool views = std::ranges::any_of(rows, &AddressRow::view);
    const bool reserves = std::ranges::any_of(rows, [](const AddressRow& row) {
        return row.kind == SegmentKind::reservation && !row.view;
    });
    draw_ground_legend(canvas, box, *paint_, word_for_stripes(reserves, views));
}

void AddressMap::draw_map(Frame& frame, const TimeArea& area) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const MapGround* ground = tiles_.ground();
    canvas.fill(plot_, theme.plot);
    if (ground == nullptr) {
        draw_head(frame);
        draw_notice(canvas, plot_,
                    fmt::format("Drawing the map: {:.0f} %", 100 * tiles_.progress()),
                    format_counted(history_->counts().blocks, "block"));
        area.draw_axis();
        return;
    }
    if (painted_ != tiles_.revision() || painted_theme_ != &theme)
        paint_ = std::make_unique<MapPaint>(theme, ground->classes);
    draw_head(frame);
    if (ground->layout.length() == 0) {
        draw_notice(canvas, plot_, "No block and no segment has an address",
                    history_->complete() ? "The recording holds no allocations."
                                         : "The program has not allocated anything yet.");
        area.draw_axis();
        return;
    }
    const auto revealed = std::exchange(frame.selection.reveal, {});
    if (revealed && revealed == frame.selection.block)
        reveal(frame, *revealed);
    scale_ = {plot_, tiles_.bottom(), tiles_.top()};
    paint_bitmap(theme);
    canvas.image(plot_, bitmap_);
    canvas.clip(plot_);
    draw_blocks(frame, area);
    draw_row_lines(canvas, scale_, ground->layout);
    for (const BlockIndex block : frame.selection.used)
        outline_block(frame, area, block, theme.selection);
    if (frame.selection.block)
        outline_block(frame, area, *frame.selection.block, theme.selection);
    cover_future(canvas, area);
    canvas.unclip();
    canvas.outline({plot_.left - 1, plot_.top - 1, plot_.right + 1, plot_.bottom + 1},
                   theme.border);
    draw_address_ruler(canvas, scale_, ground->layout);
    draw_row_names(canvas, scale_, ground->layout, *history_);
    area.draw_axis();
    area.draw_cursors();
    if (area.hovered() && plot_.contains(ImGui::GetIO().MousePos))
        hover(frame, area);
    if (frame.selection.hot_block && frame.selection.hot_block != frame.selection.block) {
        canvas.clip(plot_);
        outline_block(frame, area, *frame.selection.hot_block, theme.text);
        canvas.unclip();
    }
}

// The part after the moment up to which the map is shown.
void AddressMap::cover_future(Canvas& canvas, const TimeArea& area) const {
    if (!looks.until)
        return;
    const float x = std::clamp(std::round(area.to_x(*looks.until)), plot_.left, plot_.right);
    canvas.fill({x, plot_.top, plot_.right, plot_.bottom}, canvas.theme().plot);
}

void AddressMap::paint_bitmap(const Theme& theme) {
    if (painted_ == tiles_.revision() && painted_theme_ == &theme)
        return;
    painted_ = tiles_.revision();
    painted_theme_ = &theme;
    bitmap_.width = static_cast<std::uint32_t>(std::max(1.0F, std::floor(plot_.width())));
    bitmap_.height = static_cast<std::uint32_t>(std::max(1.0F, std::floor(plot_.height())));
    bitmap_.pixels.resize(std::size_t{bitmap_.width} * bitmap_.height);
    ++bitmap_.revision;
    Colour* pixel = bitmap_.pixels.data();
    tiles_.for_each_cell([&](std::uint32_t x, std::uint32_t y, const OccupancyCell& cell) {
        pixel[std::size_t{y} * bitmap_.width + x] = paint_->cell(cell, x, y);
    });
}

// Draws blocks that are large on the screen one by one: sharp while the picture isn't, with an edge
// between neighbours and a name.
void AddressMap::draw_blocks(Frame& frame, const TimeArea& area) {
    const std::vector<MapBlock>* blocks = tiles_.blocks();
    if (blocks == nullptr)
        return;
    Canvas& canvas = frame.canvas;
    for (const MapBlock& shown : *blocks) {
        const Box box{area.to_x(shown.born), scale_.y(shown.offset), area.to_x(shown.gone),
                      scale_.y(shown.offset + shown.length)};
        if (box.width() < kLeastBlock || box.height() < kLeastBlock || box.right < plot_.left ||
            box.left > plot_.right || box.bottom < plot_.top || box.top > plot_.bottom)
            continue;
        const Colour colour = paint_->block(shown.kind, shown.block);
        const float freed = area.to_x(shown.freed);
        canvas.fill({box.left, box.top, freed, box.bottom}, colour);
        if (shown.freed < shown.gone)
            canvas.hatch({freed, box.top, box.right, box.bottom}, colour, canvas.theme().plot);
        if (box.width() > 2 * kLeastBlock && box.height() > 2 * kLeastBlock)
            canvas.outline(box, mix(colour, canvas.theme().plot, 0.55));
        if (box.width() > canvas.px(kLabelWide) &&
            box.height() > canvas.line_height() + canvas.px(2))
            draw_block_label(canvas, {box.left, box.top, std::max(freed, box.left), box.bottom},
                             shown);
    }
}

void AddressMap::draw_block_label(Canvas& canvas, const Box& box, const MapBlock& shown) {
    const Block block = history_->block(shown.block);
    const Colour colour = MapPaint::text_on(paint_->block(shown.kind, shown.block));
    const float pad = canvas.px(4);
    const Box inside{std::max(box.left, plot_.left) + pad, box.top,
                     std::min(box.right, plot_.right) - pad, box.bottom};
    if (inside.right <= inside.left)
        return;
    const Site& site = history_->site(block.site);
    const std::string tag = names_->tag(site);
    const std::string& label = tag.empty() ? names_->call_site(site.stack) : tag;
    const float line = canvas.line_height();
    if (!label.empty() && box.height() > 2 * line + canvas.px(4)) {
        const float middle = (box.top + box.bottom) / 2;
        canvas.text_within({inside.left, middle - line, inside.right, middle}, label, colour);
        canvas.text_within({inside.left, middle, inside.right, middle + line},
                           format_bytes(block.size), colour);
        return;
    }
    const std::string text = label.empty() ? format_bytes(block.size)
                                           : fmt::format("{}  {}", format_bytes(block.size), label);
    canvas.text_within(inside, text, colour);
}

void AddressMap::outline_block(Frame& frame, const TimeArea& area, BlockIndex index,
                               Colour colour) {
    if (index >= history_->counts().blocks)
        return;
    const Block block = history_->block(index);
    const AxisUnit unit = frame.camera.unit();
    const float left = area.to_x(history_->position(unit, block.born));
    const float right = area.to_x(block.reused == kNever ? history_->end(unit)
                                                         : history_->position(unit, block.reused));
    tiles_.ground()->layout.for_each_stretch(
        history_->site(block.site).device, {block.address, block.size},
        [&](Bytes offset, Bytes length) {
            Box box{std::floor(left) - 1, std::floor(scale_.y(offset)) - 1, std::ceil(right) + 1,
                    std::ceil(scale_.y(offset + length)) + 1};
            box.right = std::max(box.right, box.left + 5);
            box.bottom = std::max(box.bottom, box.top + 5);
            frame.canvas.outline(box, frame.canvas.theme().plot);
            frame.canvas.outline(box.inset(-1), colour, 2);
        });
}

void AddressMap::hover(Frame& frame, const TimeArea& area) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const Bytes offset = scale_.offset(mouse.y);
    const Position position = area.to_position(mouse.x);
    const auto pixels = static_cast<Position>(std::max(plot_.width(), 1.0F));
    const auto lines = static_cast<Bytes>(std::max(plot_.height(), 1.0F));
    const auto reach = static_cast<Position>(kPickReach);
    const BlockIndex block =
        tiles_.pick(position, offset, frame.camera.window().length() * reach / pixels,
                    (scale_.end - scale_.begin) / lines * static_cast<Bytes>(kPickReach));
    if (block != kNoBlock)
        frame.selection.hot_block = block;
    if (area.clicked())
        frame.selection.block = block == kNoBlock ? std::nullopt : std::optional(block);
    if (area.double_clicked() && block != kNoBlock) {
        zoom_to(frame, block);
        frame.selection.grabbed = area.to_position(mouse.x);
    }
    const auto event = event_at(*history_, frame.camera.unit(), position);
    if (!event || frame.selection.grabbed)
        return;
    const HoverCard shown = card(*event, offset, block);
    frame.selection.described = shown.text();
    shown.draw(frame.canvas, mouse);
}

HoverCard AddressMap::card(EventIndex event, Bytes offset, BlockIndex index) {
    HoverCard card;
    const AddressLayout& layout = tiles_.ground()->layout;
    const std::size_t at = layout.row_at(offset, event);
    const auto found = layout.location(offset, event);
    if (index == kNoBlock) {
        const float x = ImGui::GetIO().MousePos.x - plot_.left;
        const float y = ImGui::GetIO().MousePos.y - plot_.top;
        const OccupancyCell cell = tiles_.cell(static_cast<std::uint32_t>(std::max(0.0F, x)),
                                               static_cast<std::uint32_t>(std::max(0.0F, y)));
        card.head(cell.taken > 127                    ? "In use through a second mapping"
                  : cell.memory > 127                 ? "Free memory"
                  : (cell.flags & kReservedCell) != 0 ? "Reserved addresses, no memory"
                                                      : "No memory here");
    } else {
        const Block block = history_->block(index);
        const Site& site = history_->site(block.site);
        card.head(names_->name(site));
        card.stack(names_->frames(site.stack));
        add_life(card, *history_, block, paint_->block(tiles_.ground()->classes.of(block)));
        card.row(0, "allocated", moment_text(*history_, block.born));
        card.row(0, "address", fmt::format("{:#x}", to_integer(block.address)));
        card.row(0, "stream", names_->stream(site.stream));
    }
    if (at < layout.rows().size())
        card.note(fmt::format("in a {}", row_text(layout.rows()[at])));
    if (found && index == kNoBlock)
        card.row(0, "address", fmt::format("{:#x}", to_integer(found->address)));
    if (history_->devices().size() > 1 && found)
        card.row(0, "device", names_->device(found->device));
    return card;
}

void AddressMap::zoom_to(Frame& frame, BlockIndex index) {
    const Block block = history_->block(index);
    const AxisUnit unit = frame.camera.unit();
    const Position born = history_->position(unit, block.born);
    const Position gone =
        block.reused == kNever ? history_->end(unit) : history_->position(unit, block.reused);
    const Position around = std::max<Position>((gone - born) / 3, Camera::kShortest);
    frame.camera.settle();
    frame.camera.show({born - std::min(around, born), gone + around});
    const AddressLayout& layout = tiles_.ground()->layout;
    const auto offset = layout.offset(history_->site(block.site).device, block.address);
    if (!offset || layout.length() == 0)
        return;
    const auto share = [&](double bytes) { return bytes / static_cast<double>(layout.length()); };
    const double begin = share(static_cast<double>(*offset));
    const double high = share(static_cast<double>(block.size));
    frame.camera.show_addresses(
        {std::max(0.0, begin - 1.5 * high), std::min(1.0, begin + 2.5 * high)});
}

// Moves the addresses so that the block is in their middle, unless it is in view.
void AddressMap::reveal(Frame& frame, BlockIndex index) {
    if (index >= history_->counts().blocks)
        return;
    const Block block = history_->block(index);
    const AddressLayout& layout = tiles_.ground()->layout;
    const auto offset = layout.offset(history_->site(block.site).device, block.address);
    if (!offset)
        return;
    const double length = static_cast<double>(layout.length());
    const double begin = static_cast<double>(*offset) / length;
    const double end = begin + static_cast<double>(block.size) / length;
    const AddressWindow seen = frame.camera.addresses();
    if (end > seen.begin && begin < seen.end)
        return;
    const double half = (seen.end - seen.begin) / 2;
    frame.camera.show_addresses({(begin + end) / 2 - half, (begin + end) / 2 + half});
    frame.camera.amend();
}

ViewInfo address_map_view() {
    return {"address-map", "Address map",
            "Every block by address and lifetime, with the free memory between them.", Pane::main,
            make_view<AddressMap>};
}

}  // namespace tidemark::viz
