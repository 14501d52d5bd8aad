// Blocks: what is live at the cursor, or between the two cursors, as a table, block by block or by
// owner.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/block_table.h"
#include "viz/model/blocks/site_names.h"
#include "viz/views/block_groups.h"
#include "viz/views/inspection.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

enum Column : std::size_t {
    kSize,
    kRequested,
    kAge,
    kLived,
    kFreed,
    kAddress,
    kStream,
    kTag,
    kSite,
    kCount,
};

constexpr std::array<VirtualColumn, kCount> kBlocksColumns{{
    {"size", Align::right, true, false, false, false, 90},
    {"requested", Align::right, true, false, true},
    {"age", Align::right, true, false, true},
    {"lifetime", Align::right, true, false, true},
    {"freed at", Align::right, true, false, true},
    {"address", Align::right, true, false, true},
    {"stream", Align::right, true, false, true},
    {"tag", Align::left, false, false, true},
    {"allocated at", Align::left, true, true},
}};

constexpr std::array<std::string_view, 2> kBlocksRows{"each", "grouped"};

constexpr std::array<BlockOrder, kCount> kOrders{
    BlockOrder::size,   BlockOrder::requested, BlockOrder::age,
    BlockOrder::lived,  BlockOrder::freed,     BlockOrder::address,
    BlockOrder::stream, BlockOrder::site,      BlockOrder::site};

class BlocksView final : public View {
  public:
    void draw(Frame& frame) override {
        if (follow_shown(frame, history_, names_) == Shown::nothing)
            return draw_no_history(frame);
        const std::optional<BlockQuestion> question = question_of(frame);
        const ImVec2 at{frame.area.left + frame.canvas.px(6), frame.area.top + frame.canvas.px(3)};
        float right = 0;
        grouped_ = choose(frame, at, "rows", kBlocksRows, grouped_ ? 1 : 0, right) == 1;
        if (grouped_)
            return groups_.draw(frame, history_,
                                question ? std::optional(question->event) : std::nullopt, right);
        table_.ask(history_, question, question ? question->event : 0, block_rows);
        if (frame.still)
            table_.finish();
        const Box below = draw_filter_bar(frame, frame.area, right, *history_, total(frame));
        draw_rows(frame, below, question);
    }

    bool busy() const override { return table_.running() || groups_.busy(); }

  private:
    std::optional<BlockQuestion> question_of(const Frame& frame) {
        BlockQuestion question;
        question.filter = frame.selection.filter;
        question.order = order_;
        question.descending = descending_;
        question.span = measured_span(*history_, frame.camera.unit(), frame.selection.measure);
        const std::optional<Instant> instant =
            instant_of(frame.run(), frame.camera.unit(), frame.selection.cursor);
        if (question.span)
            question.event = question.span->last;
        else if (instant)
            question.event = instant->event;
        else
            return std::nullopt;
        if (question.event == kNever)
            return std::nullopt;
        return question;
    }

    const BlockRows& rows() const {
        static const BlockRows none;
        return table_.answer() == nullptr ? none : *table_.answer();
    }

    std::string total(const Frame& frame) const {
        std::string text = when_text(*history_, frame);
        if (table_.running())
            return text + ": looking\u2026";
        return text + ": " + totals_text(rows());
    }

    void draw_rows(Frame& frame, const Box& box, const std::optional<BlockQuestion>& question) {
        const BlockRows& rows = this->rows();
        TableContent content;
        std::array<VirtualColumn, kCount> columns = kBlocksColumns;
        columns[kTag].hidden = !names_->has_tags();
        columns[kSite].hidden = history_->stacks().size() <= 1;
        content.columns = columns;
        content.rows = rows.rows.size();
        content.descending = descending_;
        content.sorted_by = sorted_;
        const EventIndex until = question ? question->event : 0;
        content.text = [&, until](std::uint64_t row, std::size_t column) {
            return cell(rows.rows[row], column, until);
        };
        content.bars = [&](std::uint64_t row, std::size_t column) -> std::vector<CellBar> {
            if (column != kSize)
                return {};
            const Theme& theme = frame.canvas.theme();
            const double share = static_cast<double>(history_->block(rows.rows[row]).size) /
                                 static_cast<double>(std::max<Bytes>(rows.largest, 1));
            return {{0, share, theme.used}};
        };
        content.file_rows = [&]() -> std::unique_ptr<TableRows> {
            return table_.running() ? nullptr : block_rows_for_file(history_, rows.rows);
        };
        content.look = [&](std::uint64_t row) {
            const BlockIndex block = rows.rows[row];
            RowLook look;
            look.selected = frame.selection.block == block;
            look.hot = frame.selection.hot_block == block;
            if (history_->block(block).freed <= until)
                look.text = frame.canvas.theme().faint_text;
            return look;
        };
        const std::string empty = no_rows(frame, question.has_value());
        content.empty = empty;
        const TableTouch touch = list_.draw(frame, box, "blocks", content);
        if (touch.title)
            sort_by(*touch.title);
        if (touch.hovered)
            point_at_block(frame, *history_, *names_, rows.rows[*touch.hovered]);
        if (touch.clicked)
            frame.selection.block = rows.rows[*touch.clicked];
        if (touch.double_clicked)
            show_life(frame, *history_, rows.rows[*touch.double_clicked]);
    }

    std::string cell(BlockIndex index, std::size_t column, EventIndex until) {
        const Block block = history_->block(index);
        const Site& site = history_->site(block.site);
        switch (column) {
            case kSize:
                return format_bytes(block.size);
            case kRequested:
                return format_bytes(block.requested);
            case kAge:
                return age_text(*history_, block.born, until);
            case kLived:
                return block.freed == kNever ? "" : age_text(*history_, block.born, block.freed);
            case kFreed:
                return block.freed == kNever ? "" : event_time_text(*history_, block.freed);
            case kAddress:
                return fmt::format("{:#x}", to_integer(block.address));
            case kStream:
                return names_->stream(site.stream);
            case kTag:
                return names_->tag(site);
            default:
                return site.stack == 0 ? "" : names_->call_site(site.stack);
        }
    }

    void sort_by(std::size_t column) {
        descending_ = sorted_ == column ? !descending_ : column != kAddress && column != kSite;
        sorted_ = column;
        order_ = kOrders[column];
    }

    std::string no_rows(const Frame& frame, bool has_instant) const {
        if (table_.running())
            return "Looking\u2026";
        if (!has_instant)
            return "Nothing has happened yet at the cursor: click further right.";
        if (rows().hidden > 0)
            return fmt::format("The filter hides all {}: loosen it.",
                               format_counted(rows().hidden, "block"));
        return frame.selection.measure ? "No block is live in the measured range."
                                       : "No block is live at the cursor.";
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    BlockTable table_;
    VirtualTable list_;
    BlockGroups groups_;
    bool grouped_ = false;
    std::size_t sorted_ = kSize;
    BlockOrder order_ = BlockOrder::size;
    bool descending_ = true;
};

}  // namespace

ViewInfo blocks_view() {
    return {"blocks", "Blocks", "Live blocks at the cursor or between two cursors, one by one.",
            Pane::table, make_view<BlocksView>};
}

}  // namespace tidemark::viz
