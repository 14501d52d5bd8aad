// At the cursor: all memory that is held at one moment, segment after segment like lines of text,
// each block in its place. The gaps between the blocks can't serve a larger request.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/memory/bar_lines.h"
#include "viz/model/memory/map_tiles.h"
#include "viz/model/session/moment.h"
#include "viz/views/hover_card.h"
#include "viz/views/inspection.h"
#include "viz/views/map_paint.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

constexpr float kMemoryNowPad = 10;     // points around all
constexpr float kMemoryNowHeadPad = 4;  // points about each line of the head
constexpr float kBarHigh = 18;          // points
constexpr float kMemoryNowLineGap = 5;  // points between a bar and the words of the next
constexpr float kBarGap = 3;            // pixels between segments
constexpr float kLeastWord = 34;        // points that a segment's size needs

class MemoryNowView : public View {
  public:
    void draw(Frame& frame) override;

    bool busy() const override { return now_job_.running() || classes_job_.running(); }

  private:
    void update(Frame& frame);
    void update_classes(Frame& frame);
    void lay_out(Frame& frame, const Box& box);
    float draw_head(Frame& frame, const Box& box);
    void draw_lines(Frame& frame, const Box& box);
    void draw_labels(Canvas& canvas, const Box& box);
    void paint(const Theme& theme, const Box& box);
    void outline(Canvas& canvas, const Box& box, std::uint32_t bar, Bytes begin, Bytes end,
                 Colour colour);
    void label_gap(Canvas& canvas, const Box& box, const NowBar& bar);
    void outline_block(Canvas& canvas, const Box& box, BlockIndex block, Colour colour);
    void hover(Frame& frame, const Box& box);
    HoverCard card(const NowBar& bar, const BarPosition& position, BlockIndex block);

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    std::optional<MemoryNow> now_;
    std::optional<EventIndex> requested_;
    bool at_peak_ = false;
    std::optional<BlockClasses> classes_;
    std::size_t classes_sites_ = 0;
    std::unique_ptr<MapPaint> paint_;
    const Theme* theme_ = nullptr;
    bool by_address_ = true;
    bool changed_ = true;
    std::vector<std::uint32_t> order_;
    BarLines lines_;
    float pitch_ = 1;  // pixels from line to line: first words, then the bar, then nothing
    float text_height_ = 1;
    float bar_high_ = 1;
    Bitmap bitmap_;
    Job<MemoryNow> now_job_;
    Job<BlockClasses> classes_job_;
};

void MemoryNowView::draw(Frame& frame) {
    const Shown shown = follow_shown(frame, history_, names_);
    if (shown == Shown::another) {
        now_job_.cancel();
        classes_job_.cancel();
        now_.reset();
        requested_.reset();
        classes_.reset();
    }
    if (shown == Shown::nothing || history_->counts().events == 0) {
        const ViewedRun* const run = frame.session.shown(frame.selection.run);
        const bool tiers = run != nullptr && run->tiers;
        draw_notice(frame.canvas, frame.area,
                    tiers ? "A run over tiers has no addresses" : "No memory yet",
                    tiers ? "Open the trace without --machine, --gpu-memory or --spill."
                          : "It appears while the run is loaded.");
        return;
    }
    update(frame);
    update_classes(frame);
    const Box inside = frame.area.inset(frame.canvas.px(kMemoryNowPad));
    Box box = inside;
    box.top = draw_head(frame, inside);
    if (!now_ || !classes_ || box.height() < frame.canvas.px(2 * kBarHigh)) {
        if (!now_)
            draw_notice(frame.canvas, box, "Looking at the memory of this moment", "");
        return;
    }
    if (now_->bars.empty()) {
        draw_notice(frame.canvas, box, "No memory is held at this moment",
                    "Click later in the timeline.");
        return;
    }
    lay_out(frame, box);
    draw_lines(frame, box);
}

// The state under the mouse, else at the cursor, else at the peak.
void MemoryNowView::update(Frame& frame) {
    const auto take = [this](std::optional<MemoryNow> now) {
        if (now) {
            now_ = std::move(now);
            changed_ = true;
        }
    };
    take(now_job_.take());
    const auto instant = instant_of(frame.run(), frame.camera.unit(), frame.selection.looked_at());
    const EventIndex event = instant ? instant->event : 0;
    at_peak_ = instant && instant->at_peak;
    if (requested_ != event && !now_job_.running()) {
        requested_ = event;
        now_job_.start([history = history_, event](const Cancelled& cancelled) {
            return memory_now(*history, event, cancelled);
        });
    }
    if (frame.still)
        take(now_job_.wait());
}

void MemoryNowView::update_classes(Frame& frame) {
    const BlockTrait wanted = shown_trait(*history_, frame.selection.colour_by);
    const std::size_t sites = history_->counts().sites;
    const auto take = [this](std::optional<BlockClasses> classes) {
        if (classes) {
            classes_ = std::move(classes);
            changed_ = true;
            theme_ = nullptr;
        }
    };
    take(classes_job_.take());
    const bool stale = !classes_ || classes_->trait() != wanted || sites > 2 * classes_sites_;
    if (stale && !classes_job_.running()) {
        classes_sites_ = sites;
        classes_job_.start([history = history_, wanted](const Cancelled& cancelled) {
            return classes_of(*history, wanted, cancelled);
        });
    }
    if (frame.still)
        take(classes_job_.wait());
}

float MemoryNowView::draw_head(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    const Theme& theme = canvas.theme();
    const float pad = canvas.px(kMemoryNowHeadPad);
    const float line = canvas.line_height() + 2 * pad;
    float x = box.left;
    const float y = box.top;
    if (now_) {
        const std::string when = fmt::format("{}{}: ", at_peak_ ? "At the peak, " : "At ",
                                             moment_text(*history_, now_->event));
        x += canvas.text({x, y}, when, theme.faint_text);
        std::string text = fmt::format("{} held in {} {}, {} used, {} free",
                                       format_bytes(now_->memory), now_->bars.size() - now_->views,
                                       now_->bars.size() - now_->views == 1 ? "piece" : "pieces",
                                       format_bytes(now_->taken), format_bytes(now_->free()));
        if (now_->gaps > 0)
            text += fmt::format(" in {}, the largest {}", format_counted(now_->gaps, "gap"),
                                format_bytes(now_->gap));
        if (now_->views > 0)
            text += fmt::format("; {}", format_counted(now_->views, "second mapping"));
        if (now_->waiting > 0)
            text += fmt::format("; {} pending free", format_bytes(now_->waiting));
        canvas.text_within({x, y, box.right, y + canvas.line_height()}, text, theme.text);
    }
    float end = draw_colour_choice(frame, box.left, y + line,
                                   classes_ ? classes_->trait() : BlockTrait::tag);
    end += canvas.px(24);
    end += canvas.text({end, y + line + canvas.px(2)}, "Order", theme.faint_text) + canvas.px(4);
    for (const bool by_address : {true, false})
        if (draw_chip(frame, end, y + line, by_address ? "address" : "length",
                      by_address == by_address_)) {
            by_address_ = by_address;
            changed_ = true;
        }
    if (!classes_)
        return y + 3 * line;
    if (theme_ != &theme) {
        theme_ = &theme;
        paint_ = std::make_unique<MapPaint>(theme, *classes_);
        changed_ = true;
    }
    const std::string_view stripes =
        now_ ? word_for_stripes(!now_->holes.empty(), now_->views > 0) : "";
    draw_ground_legend(canvas,
                       {end + canvas.px(24), y + line + canvas.px(2), box.right, y + 2 * line},
                       *paint_, stripes);
    draw_class_legend(canvas, {box.left, y + 2 * line + pad, box.right, y + 3 * line}, *paint_,
                      *classes_);
    return y + 3 * line + 2 * pad;
}

void MemoryNowView::lay_out(Frame& frame, const Box& box) {
    const Canvas& canvas = frame.canvas;
    text_height_ = std::floor(canvas.line_height() + canvas.px(1));
    const float pitch = text_height_ + canvas.px(kBarHigh + kMemoryNowLineGap);
    const auto lines = static_cast<std::uint32_t>(std::max(1.0F, std::floor(box.height() / pitch)));
    const auto columns = static_cast<std::uint32_t>(std::max(1.0F, std::floor(box.width())));
    // The rest makes the bars higher.
    pitch_ = std::floor(box.height() / static_cast<float>(lines));
    bar_high_ = std::floor(pitch_ - text_height_ - canvas.px(kMemoryNowLineGap));
    if (!changed_ && lines_.columns() == columns && lines_.lines() == lines)
        return;
    order_ = bar_order(*now_, by_address_);
    lines_ = BarLines(*now_, order_, columns, lines, static_cast<double>(canvas.px(kBarGap)));
    changed_ = true;
}

void MemoryNowView::paint(const Theme& theme, const Box& box) {
    const auto height = static_cast<std::uint32_t>(box.height());
    if (!changed_ && bitmap_.height == height)
        return;
    changed_ = false;
    const std::vector<OccupancyCell> cells = lines_.cells(*now_, *history_, *classes_);
    bitmap_.width = lines_.columns();
    bitmap_.height = height;
    bitmap_.pixels.assign(std::size_t{bitmap_.width} * height, theme.ground);
    ++bitmap_.revision;
    const auto text_height = static_cast<std::uint32_t>(text_height_);
    const auto high = static_cast<std::uint32_t>(bar_high_);
    const OccupancyCell nothing;
    for (std::uint32_t y = 0; y < height; ++y) {
        const auto line = y / static_cast<std::uint32_t>(pitch_);
        const auto within = y % static_cast<std::uint32_t>(pitch_);
        if (line >= lines_.lines() || within < text_height || within >= text_height + high)
            continue;
        const OccupancyCell* row = &cells[std::size_t{line} * lines_.columns()];
        Colour* pixels = &bitmap_.pixels[std::size_t{y} * bitmap_.width];
        for (std::uint32_t x = 0; x < bitmap_.width; ++x)
            if (row[x] != nothing)
                pixels[x] = paint_->cell(row[x], x, y);
    }
}

void MemoryNowView::draw_lines(Frame& frame, const Box& box) {
    Canvas& canvas = frame.canvas;
    paint(canvas.theme(), box);
    canvas.image({box.left, box.top, box.left + static_cast<float>(bitmap_.width),
                  box.top + static_cast<float>(bitmap_.height)},
                 bitmap_);
    draw_labels(canvas, box);
    if (now_->gap > 0) {
        const NowBar& bar = now_->bars[now_->gap_bar];
        outline(canvas, box, now_->gap_bar, bar.gap_at, bar.gap_at + bar.gap, canvas.theme().text);
        label_gap(canvas, box, bar);
    }
    for (const BlockIndex block : frame.selection.used)
        outline_block(canvas, box, block, canvas.theme().selection);
    if (frame.selection.block)
        outline_block(canvas, box, *frame.selection.block, canvas.theme().selection);
    if (!frame.still)
        hover(frame, box);
}

// The size of each segment above its start, where there is room.
void MemoryNowView::draw_labels(Canvas& canvas, const Box& box) {
    const Theme& theme = canvas.theme();
    float free_from = box.left;
    std::uint32_t line = 0;
    const std::vector<BarPart>& parts = lines_.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const BarPart& part = parts[i];
        if (part.line != line) {
            line = part.line;
            free_from = box.left;
        }
        const NowBar& bar = now_->bars[part.bar];
        const float left = box.left + static_cast<float>(part.left);
        const float right = box.left + static_cast<float>(part.right);
        const float top = box.top + static_cast<float>(part.line) * pitch_;
        if (part.begin != 0 || right - left < canvas.px(kLeastWord) || left < free_from)
            continue;
        std::string text = format_bytes(bar.memory);
        const std::string more = fmt::format(
            "{}{}, {:.0f} % free", text, bar.known ? "" : " outside segments",
            100.0 * static_cast<double>(bar.free()) / static_cast<double>(bar.memory | 1U));
        if (bar.kind == SegmentKind::view)
            text = "second mapping";
        else if (canvas.text_width(more) + canvas.px(8) < right - left)
            text = more;
        if (canvas.text_width(text) < right - left + canvas.px(kBarGap))
            free_from = left + canvas.text({left, top - canvas.px(1)}, text, theme.faint_text) +
                        canvas.px(6);
    }
}

void MemoryNowView::outline(Canvas& canvas, const Box& box, std::uint32_t bar, Bytes begin,
                            Bytes end, Colour colour) {
    for (const BarPart& part : lines_.stretch(bar, begin, end)) {
        const float top = box.top + static_cast<float>(part.line) * pitch_ + text_height_;
        const float left = std::floor(box.left + static_cast<float>(part.left));
        const float right = std::ceil(box.left + static_cast<float>(part.right));
        canvas.outline({left - 1, top - 1, std::max(right, left + 2) + 1, top + bar_high_ + 1},
                       colour, 2);
    }
}

// "largest gap: 20.0 MiB" in the widest part of it.
void MemoryNowView::label_gap(Canvas& canvas, const Box& box, const NowBar& bar) {
    const std::vector<BarPart> parts =
        lines_.stretch(now_->gap_bar, bar.gap_at, bar.gap_at + bar.gap);
    const auto widest = std::max_element(
        parts.begin(), parts.end(),
        [](const BarPart& a, const BarPart& b) { return a.right - a.left < b.right - b.left; });
    if (widest == parts.end())
        return;
    const float top = box.top + static_cast<float>(widest->line) * pitch_ + text_height_;
    const float pad = canvas.px(6);
    const std::string text = "largest gap: " + format_bytes(bar.gap);
    const Box inside{box.left + static_cast<float>(widest->left) + pad, top,
                     box.left + static_cast<float>(widest->right) - pad, top + bar_high_};
    if (canvas.text_width(text) <= inside.width())
        canvas.text_within(inside, text, MapPaint::text_on(canvas.theme().cached));
}

void MemoryNowView::outline_block(Canvas& canvas, const Box& box, BlockIndex block, Colour colour) {
    const auto found = std::find_if(now_->blocks.begin(), now_->blocks.end(),
                                    [block](const NowBlock& one) { return one.block == block; });
    if (found == now_->blocks.end())
        return;
    const auto index = static_cast<std::uint32_t>(found - now_->blocks.begin());
    for (std::uint32_t i = 0; i < now_->bars.size(); ++i) {
        const NowBar& bar = now_->bars[i];
        if (index >= bar.first_block && index < bar.first_block + bar.blocks)
            outline(canvas, box, i, found->at, found->at + found->size, colour);
    }
}

void MemoryNowView::hover(Frame& frame, const Box& box) {
    const ImGuiIO& io = ImGui::GetIO();
    if (!box.contains(io.MousePos) || !ImGui::IsWindowHovered())
        return;
    const float within = std::fmod(io.MousePos.y - box.top, pitch_);
    const auto line = static_cast<std::uint32_t>((io.MousePos.y - box.top) / pitch_);
    if (within < text_height_ || within >= text_height_ + bar_high_)
        return;
    const auto position = lines_.find(line, static_cast<double>(io.MousePos.x - box.left));
    if (!position)
        return;
    const NowBar& bar = now_->bars[position->bar];
    const BlockIndex block = block_at(*now_, bar, position->at);
    if (block != kNoBlock) {
        frame.selection.hot_block = block;
        outline_block(frame.canvas, box, block, frame.canvas.theme().text);
    }
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left))
        frame.selection.block = block == kNoBlock ? std::nullopt : std::optional(block);
    const HoverCard shown = card(bar, *position, block);
    frame.selection.described = shown.text();
    shown.draw(frame.canvas, io.MousePos);
}

HoverCard MemoryNowView::card(const NowBar& bar, const BarPosition& position, BlockIndex index) {
    HoverCard card;
    if (index != kNoBlock) {
        const Block block = history_->block(index);
        const Site& site = history_->site(block.site);
        card.head(names_->name(site));
        card.row(paint_->block(classes_->of(block)), "size", format_bytes(block.size));
        card.row(0, "address", fmt::format("{:#x}", to_integer(block.address)));
        card.row(0, "allocated", moment_text(*history_, block.born));
        card.row(0, "stream", names_->stream(site.stream));
        if (block.freed <= now_->event)
            card.note("pending free: the device may still use it");
    } else {
        const auto begin = now_->blocks.begin() + bar.first_block;
        const auto after =
            std::partition_point(begin, begin + bar.blocks,
                                 [&](const NowBlock& block) { return block.at <= position.at; });
        Bytes from = after == begin ? 0 : (after - 1)->at + (after - 1)->size;
        Bytes to = after == begin + bar.blocks ? bar.length : after->at;
        for (std::uint32_t i = 0; i < bar.holes; ++i) {
            const NowHole& hole = now_->holes[bar.first_hole + i];
            if (position.at >= hole.at && position.at < hole.at + hole.shown) {
                card.head(fmt::format("Reserved without memory: {}", format_bytes(hole.size)));
                return card;
            }
            if (hole.at + hole.shown <= position.at)
                from = std::max(from, hole.at + hole.shown);
            else
                to = std::min(to, hole.at);
        }
        if (bar.kind == SegmentKind::view) {
            card.head("A second mapping, not in use here");
            return card;
        }
        card.head(fmt::format("Free: a gap of {}", format_bytes(to - std::min(from, to))));
    }
    const char* what = !bar.known                         ? "blocks outside segments"
                       : bar.kind == SegmentKind::mapping ? "mapped pages"
                       : bar.kind == SegmentKind::view    ? "second mapping"
                                                          : "segment";
    card.row(0, what, format_bytes(bar.kind == SegmentKind::view ? bar.length : bar.memory));
    card.row(0, "of it free",
             bar.gaps == 0 ? bar.kind == SegmentKind::view ? "counts elsewhere" : "nothing"
                           : fmt::format("{} in {} {}", format_bytes(bar.free()), bar.gaps,
                                         bar.gaps == 1 ? "gap" : "gaps"));
    if (history_->devices().size() > 1)
        card.row(0, "device", names_->device(bar.device));
    return card;
}

}  // namespace

ViewInfo memory_now_view() {
    return {"memory-now", "At the cursor",
            "The memory held at one moment, segment by segment: what is used, what is free, and "
            "in how many pieces.",
            Pane::main, make_view<MemoryNowView>};
}

}  // namespace tidemark::viz
