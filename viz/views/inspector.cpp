// Inspector: the figures at the cursor, those between two cursors, and everything about the block
// that is selected or under the mouse.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/timeline/memory_spans.h"
#include "viz/draw/column_writer.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/blocks/leaks.h"
#include "viz/model/session/async_query.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/timeline_columns.h"
#include "viz/views/inspection.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

struct DetailsQuestion {
    BlockIndex block = kNoBlock;
    EventIndex at = 0;

    friend bool operator==(const DetailsQuestion&, const DetailsQuestion&) = default;
};

BlockDetails details_of(const History& history, const DetailsQuestion& question,
                        const Cancelled& cancelled) {
    return block_details(history, question.block, question.at, cancelled);
}

FreeSpace find_space(const History& history, const EventIndex& event, const Cancelled& cancelled) {
    return free_space(memory_spans(history, event, cancelled));
}

Leaks find_all_leaks(const History& history, const EventSpan& span, const Cancelled& cancelled) {
    return find_leaks(history, span, {}, cancelled);
}

// "+1.20 GiB", "-3.00 MiB", "as before".
std::string difference(Bytes before, Bytes after) {
    if (before == after)
        return "as before";
    return after > before ? "+" + format_bytes(after - before) : "-" + format_bytes(before - after);
}

Bytes beyond(Bytes larger, Bytes smaller) {
    return larger - std::min(larger, smaller);
}

struct SeriesLook {
    Series series;
    std::string_view name;
    Colour Theme::*colour;
};

constexpr std::array<SeriesLook, kSeriesCount> kInspectorLooks{
    {{Series::reserved, "reserved", &Theme::reserved},
     {Series::active, "active", &Theme::active},
     {Series::allocated, "allocated", &Theme::allocated},
     {Series::requested, "requested", &Theme::requested}}};

class InspectorView final : public View {
  public:
    void draw(Frame& frame) override {
        const auto history = shown_history(frame);
        if (history == nullptr)
            return draw_no_history(frame);
        history_ = history;
        ask(frame);
        ColumnWriter column(frame, frame.area, scroll_);
        write_moment(frame, column);
        if (span_)
            write_measured(frame, column);
        write_detail(frame, column);
        write_block(frame, column);
    }

    bool busy() const override {
        return space_.running() || details_.running() || leaks_.running();
    }

  private:
    void ask(const Frame& frame) {
        const AxisUnit unit = frame.camera.unit();
        const Selection& selection = frame.selection;
        instant_ = instant_of(frame.run(), unit, selection.looked_at());
        const std::optional<EventIndex> event =
            instant_ ? std::optional(instant_->event) : std::nullopt;
        space_.ask(history_, event, event.value_or(0), find_space);
        std::optional<BlockIndex> block =
            selection.hot_block ? selection.hot_block : selection.block;
        if (block && *block >= history_->counts().blocks)
            block.reset();
        std::optional<DetailsQuestion> question;
        if (block)
            question = {*block, event.value_or(0)};
        details_.ask(history_, question, kNever - 1, details_of);
        span_ = measured_span(*history_, unit, selection.measure);
        leaks_.ask(history_, span_, span_ ? span_->last : 0, find_all_leaks);
        if (frame.still) {
            space_.finish();
            details_.finish();
            leaks_.finish();
        }
    }

    std::string moment_name(const Selection& selection) const {
        if (!instant_)
            return "Before the first event";
        if (instant_->at_peak)
            return "At the peak";
        if (instant_->has_ended)
            return "At the run's end";
        return selection.hover ? "Under the mouse" : "At the cursor";
    }

    void write_moment(Frame& frame, ColumnWriter& column) const {
        const Theme& theme = frame.canvas.theme();
        column.heading(moment_name(frame.selection),
                       instant_ ? moment_text(*history_, instant_->event) : "");
        if (!instant_)
            return;
        const SeriesValues values = history_->values(instant_->event);
        for (const SeriesLook& look : kInspectorLooks)
            column.figure(look.name, format_bytes(values[look.series]), theme.*look.colour);
        const auto part = [&](std::string_view name, Series whole, Series less,
                              std::optional<Colour> colour) {
            if (const Bytes bytes = beyond(values[whole], values[less]); bytes > 0)
                column.figure(name, format_bytes(bytes), colour);
        };
        column.gap();
        part("free (reserved - active)", Series::reserved, Series::active, theme.cached);
        if (const FreeSpace* const then = space_.answer(); then && then->fragmentation > 0)
            column.figure("of this, fragmentation", format_bytes(then->fragmentation),
                          theme.fragmentation);
        part("pending free", Series::active, Series::allocated, std::nullopt);
        if (const Bytes rounding = rounding_of(values).value_or(0); rounding > 0)
            column.figure("rounding", format_bytes(rounding), theme.rounding);
        write_space(column);
        column.gap();
    }

    void write_space(ColumnWriter& column) const {
        const FreeSpace* const space = space_.answer();
        if (space == nullptr)
            return;
        column.figure("live blocks", format_count(space->blocks));
        if (space->held == 0)
            return;
        column.figure("pieces of memory", format_count(space->spans));
        column.figure("gaps", format_count(space->gaps));
        column.figure("largest gap", format_bytes(space->largest));
        if (space->free > 0)
            column.figure("free outside of it", fmt::format("{:.0f} %", 100 * space->scattered()));
    }

    void write_measured(Frame& frame, ColumnWriter& column) const {
        const Theme& theme = frame.canvas.theme();
        const EventIndex first = span_->begin();
        const EventIndex end = span_->end();
        const Window& window = *frame.selection.measure;
        column.heading("Measured", frame.camera.unit() == AxisUnit::time
                                       ? format_duration(window.length())
                                       : "");
        column.figure("events", format_count(end - std::min(first, end)));
        const SeriesValues before =
            span_->first == kNever ? SeriesValues{} : history_->values(span_->first);
        const SeriesValues after =
            span_->last == kNever ? SeriesValues{} : history_->values(span_->last);
        for (const SeriesLook& look : kInspectorLooks)
            column.figure(look.name, difference(before[look.series], after[look.series]),
                          theme.*look.colour);
        if (end > first)
            column.figure("blocks allocated",
                          format_count(history_->born_before(end) - history_->born_before(first)));
        if (const Leaks* const leaks = leaks_.answer()) {
            column.figure("of these not freed",
                          fmt::format("{} in {}", format_bytes(leaks->bytes),
                                      format_counted(leaks->blocks, "block")));
            if (leaks->lost > 0)
                column.paragraph(
                    fmt::format("{} events are missing in between.", format_count(leaks->lost)),
                    theme.warning);
        }
        column.gap();
    }

    // The full text of a track or an area, whose tip has room for only two lines.
    static void write_detail(Frame& frame, ColumnWriter& column) {
        std::string_view rest = frame.selection.detail;
        for (bool is_first = true; !rest.empty(); is_first = false) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            const std::string_view line = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            const std::size_t tab = line.find('\t');
            if (is_first)
                column.heading(line);
            else if (tab == std::string_view::npos)
                column.paragraph(line, frame.canvas.theme().faint_text);
            else
                column.fact(line.substr(0, tab), line.substr(tab + 1));
        }
        if (!frame.selection.detail.empty())
            column.gap();
    }

    void write_block(Frame& frame, ColumnWriter& column) {
        const Theme& theme = frame.canvas.theme();
        const BlockDetails* const details = details_.answer();
        if (details == nullptr || details->block == kNoBlock) {
            column.heading("Block");
            column.paragraph(details_.running()
                                 ? "Looking\u2026"
                                 : "Click a block in the address map or in a table to see its "
                                   "lifetime, its neighbours and who requested it.",
                             theme.faint_text);
            return;
        }
        column.heading("Block", details->title);
        for (const auto& [label, value] : details->facts)
            column.fact(label, value);
        write_links(frame, column, *details);
        column.gap();
        column.heading("Stack", details->frames.empty() ? "" : "innermost first");
        if (details->frames.empty())
            column.paragraph("Not recorded. In PyTorch: _record_memory_history(stacks='all').",
                             theme.faint_text);
        for (const std::string& at : details->frames)
            column.paragraph(at, theme.text);
        if (frame.selection.described.empty() && frame.selection.hot_block)
            frame.selection.described = to_text(*details);
    }

    void write_links(Frame& frame, ColumnWriter& column, const BlockDetails& details) const {
        column.gap();
        if (column.link("Show its whole lifetime"))
            show_life(frame, *history_, details.block);
        const auto go = [&](std::string_view text, BlockIndex block) {
            if (block == kNoBlock || !column.link(text))
                return;
            frame.selection.block = block;
            go_to_event(frame, *history_, history_->block(block).born);
        };
        go("Go to the block before it", details.before);
        go("Go to the block after it", details.after);
        go("Select the block left of it", details.left);
        go("Select the block right of it", details.right);
    }

    std::shared_ptr<const History> history_;
    std::optional<Instant> instant_;
    std::optional<EventSpan> span_;
    AsyncQuery<EventIndex, FreeSpace> space_;
    AsyncQuery<DetailsQuestion, BlockDetails> details_;
    AsyncQuery<EventSpan, Leaks> leaks_;
    float scroll_ = 0;
};

}  // namespace

ViewInfo inspector_view() {
    return {"inspector", "Inspector", "Figures at the cursor, details of one block.", Pane::side,
            make_view<InspectorView>};
}

}  // namespace tidemark::viz
