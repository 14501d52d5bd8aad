// Bars, their axis, and holders.
#include "viz/views/overview_peak.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/model/blocks/site_index.h"
#include "viz/views/inspection.h"
#include "viz/views/timeline_legend.h"

namespace tidemark::viz {
namespace {

// A peak below this part of the device would be a sliver: bars are then measured by the peak.
constexpr double kLeastOfCapacity = 0.2;
constexpr float kPeakFigure = 215;   // points for the figure behind a bar
constexpr float kTicksAside = 70;    // points from one tick to the next
constexpr float kLegendRoom = 2.5F;  // lines

// What a bar consists of, from the left.
struct BarPiece {
    const char* name;
    Colour Theme::*colour;
    Bytes bytes = 0;
};

std::array<BarPiece, 5> pieces_of(const PeakSummary& summary) {
    const facts::MemoryParts& parts = summary.parts;
    return {{{"in use", &Theme::used, parts.in_use},
             {"rounding", &Theme::rounding, parts.rounding},
             {"pending free", &Theme::active, parts.waiting},
             {"fragmentation", &Theme::fragmentation, parts.fragmentation},
             {"cached", &Theme::cached, parts.cached}}};
}

std::string figure_of(const PeakBar& bar) {
    const Bytes reserved = bar.summary->parts.reserved;
    return bar.capacity == 0 ? format_bytes(reserved)
                             : fmt::format("{}, {} of {}", format_bytes(reserved),
                                           format_brief_share(reserved, bar.capacity),
                                           format_bytes(bar.capacity));
}

// Where bars are drawn: from `left` to `right`, which is `scale`.
struct BarScale {
    float left = 0;
    float right = 0;
    Bytes scale = 1;

    float x(Bytes bytes) const {
        const double share = static_cast<double>(bytes) / static_cast<double>(scale);
        return left + static_cast<float>(std::round(share * static_cast<double>(right - left)));
    }
};

void draw_bar(Writer& writer, const PeakBar& bar, const BarScale& scale) {
    Canvas& canvas = writer.canvas;
    const Theme& theme = canvas.theme();
    if (!bar.name.empty()) {
        const Box row = writer.row();
        const float size = canvas.px(10);
        const float middle = (row.top + row.bottom) / 2;
        canvas.fill({row.left, middle - size / 2, row.left + size, middle + size / 2}, bar.colour);
        canvas.text_within({row.left + size + canvas.px(8), row.top, row.right, row.bottom},
                           bar.name, theme.text);
    }
    if (bar.summary == nullptr || bar.summary->events == 0)
        return writer.paragraph(bar.summary == nullptr ? bar.state : "This run has no events.",
                                theme.faint_text);
    const Box row = writer.row();
    const float pad = canvas.px(3);
    canvas.fill({scale.left, row.top + pad, scale.right, row.bottom - pad},
                mix(theme.ground, theme.text, 0.08));
    Bytes from = 0;
    for (const BarPiece& piece : pieces_of(*bar.summary)) {
        canvas.fill({scale.x(from), row.top + pad, scale.x(from + piece.bytes), row.bottom - pad},
                    theme.*piece.colour);
        from += piece.bytes;
    }
    canvas.text_within({scale.right + canvas.px(12), row.top, row.right, row.bottom},
                       figure_of(bar), theme.text);
}

void draw_axis(Writer& writer, const BarScale& scale) {
    Canvas& canvas = writer.canvas;
    const Theme& theme = canvas.theme();
    const Box row = writer.row();
    const auto most = static_cast<std::size_t>(
        std::max((scale.right - scale.left) / canvas.px(kTicksAside), 1.0F));
    canvas.horizontal(row.top, scale.left, scale.right, theme.border);
    for (const ByteTick& tick : byte_ticks(0, scale.scale, most)) {
        const float x = scale.x(tick.bytes);
        canvas.vertical(x, row.top, row.top + canvas.px(4), theme.border);
        canvas.text({x, row.top + canvas.px(4)}, tick.label, theme.faint_text,
                    tick.bytes == 0 ? Align::left : Align::centre);
    }
}

void draw_pieces(Frame& frame, Writer& writer, const PeakSummary& summary) {
    if (!writer.has_room(kLegendRoom))
        return;
    std::vector<LegendEntry> entries;
    for (const BarPiece& piece : pieces_of(summary))
        if (piece.bytes > 0)
            entries.push_back({piece.name,
                               format_bytes(piece.bytes),
                               frame.canvas.theme().*piece.colour,
                               CurveLook::gap,
                               {},
                               true});
    const TimelineLegend legend(frame.canvas, std::move(entries), writer.box.width());
    writer.skip(4);
    legend.draw(frame, writer.box);
    writer.box.top += legend.height();
}

// A share bar behind, the name over it, the figures at the right.
void draw_holder(Canvas& canvas, const Box& row, const PeakHolder& holder, Bytes all) {
    const Theme& theme = canvas.theme();
    const float right = row.right - canvas.px(Writer::kFigureWidth);
    const Box bar{row.left, row.top + 1, right, row.bottom - 2};
    canvas.fill(bar, mix(theme.ground, theme.text, 0.05));
    const auto part = static_cast<float>(std::clamp(share_of(holder.bytes, all), 0.0, 1.0));
    canvas.fill({bar.left, bar.top, bar.left + std::round(bar.width() * part), bar.bottom},
                theme.used);
    canvas.text_within({bar.left + canvas.px(8), bar.top, bar.right - canvas.px(8), bar.bottom},
                       holder.name, theme.text);
    canvas.text_within(
        {right + canvas.px(12), row.top, row.right, row.bottom},
        fmt::format("{}, {}, {}", format_bytes(holder.bytes), format_brief_share(holder.bytes, all),
                    format_counted(holder.blocks, "block")),
        theme.text);
}

void show_holder(Frame& frame, const History& history, const PeakSummary& summary,
                 const PeakHolder& holder) {
    go_to_event(frame, history, summary.peak);
    frame.selection.block = holder.largest;
    frame.selection.reveal = holder.largest;
    frame.selection.filter = holder.filter;
    frame.selection.wanted_view = "address-map";
}

}  // namespace

Bytes scale_of(std::span<const PeakBar> bars) {
    Bytes capacity = 0;
    Bytes most = 1;
    for (const PeakBar& bar : bars) {
        if (bar.summary == nullptr)
            continue;
        capacity = std::max(capacity, bar.capacity);
        most = std::max(most, bar.summary->parts.reserved);
    }
    return share_of(most, capacity) >= kLeastOfCapacity ? std::max(capacity, most) : most;
}

void draw_peak_bars(Frame& frame, Writer& writer, std::span<const PeakBar> bars,
                    std::size_t shown) {
    writer.heading("At the peak");
    const BarScale scale{writer.box.left, writer.box.right - frame.canvas.px(kPeakFigure),
                         scale_of(bars)};
    const float lines = bars.size() > 1 ? 2 : 1;
    bool is_whole = true;
    for (std::size_t i = 0; i < bars.size() && is_whole; ++i) {
        is_whole = writer.has_room(lines + 2);
        if (is_whole)
            draw_bar(writer, bars[i], scale);
        else
            writer.paragraph(fmt::format("and {} more, see Compare", bars.size() - i),
                             frame.canvas.theme().faint_text);
    }
    if (is_whole)
        draw_axis(writer, scale);
    if (shown < bars.size() && bars[shown].summary != nullptr)
        draw_pieces(frame, writer, *bars[shown].summary);
}

void draw_holders(Frame& frame, Writer& writer, const History& history,
                  const PeakSummary& summary) {
    if (summary.holders.empty() || !writer.has_room(4))
        return;
    writer.heading("Who held it");
    if (summary.holders_are_sizes && writer.has_room(6))
        writer.paragraph("Tags and call stacks were not recorded: these are block sizes.",
                         frame.canvas.theme().faint_text);
    writer.skip(2);
    const Bytes all = summary.at_peak[Series::allocated];
    std::size_t drawn = 0;
    for (; drawn < summary.holders.size() && writer.has_room(2); ++drawn) {
        const PeakHolder& holder = summary.holders[drawn];
        const Box row = writer.row();
        if (clicked_line(frame, row, fmt::format("holder {}", drawn)))
            show_holder(frame, history, summary, holder);
        draw_holder(frame.canvas, row, holder, all);
    }
    PeakHolder rest = summary.others;
    std::uint64_t names = summary.other_names;
    for (; drawn < summary.holders.size(); ++drawn, ++names) {
        rest.bytes += summary.holders[drawn].bytes;
        rest.blocks += summary.holders[drawn].blocks;
    }
    rest.name = fmt::format("{} other {}", format_count(names),
                            summary.holders_are_sizes ? "sizes" : "call sites");
    if (names > 0 && writer.has_room(1))
        draw_holder(frame.canvas, writer.row(), rest, all);
}

}  // namespace tidemark::viz
