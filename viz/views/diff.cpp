// What changed between two moments, the two cursors: by owner, what came, what went and what
// stayed. A click on a row filters all views by its owner.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/axis_ticks.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/moment_diff.h"
#include "viz/model/session/async_query.h"
#include "viz/views/inspection.h"
#include "viz/views/owner_chooser.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

enum DiffColumn : std::size_t {
    kDiffOwner,
    kDiffBars,
    kDiffChange,
    kDiffCame,
    kDiffCameBlocks,
    kDiffWent,
    kDiffWentBlocks,
    kDiffStayed,
    kDiffStayedBlocks,
    kDiffCount,
};

constexpr std::array<VirtualColumn, kDiffCount> kDiffColumns{{
    {"owner", Align::left, false, true},
    {"went | came", Align::centre, false, false, true, false, 160},
    {"change", Align::right, true},
    {"came", Align::right, true},
    {"blocks", Align::right, false, false, true},
    {"went", Align::right, true},
    {"blocks", Align::right, false, false, true},
    {"stayed", Align::right, true, false, true},
    {"blocks", Align::right, false, false, true},
}};

constexpr Position kFinestPart = 1000;  // of the stretch: the precision of its ends

// "+1.2 GiB", "-3 MiB", "0 B".
std::string signed_bytes(std::int64_t bytes) {
    const std::string_view sign = bytes > 0 ? "+" : bytes < 0 ? "-" : "";
    return fmt::format("{}{}", sign, format_bytes(static_cast<Bytes>(bytes < 0 ? -bytes : bytes)));
}

std::string sum_text(const BlockSum& sum) {
    return fmt::format("{} in {}", format_bytes(sum.bytes), format_counted(sum.blocks, "block"));
}

class DiffView final : public View {
  public:
    void draw(Frame& frame) override {
        if (follow_shown(frame, history_, names_) == Shown::nothing)
            return draw_no_history(frame);
        frame.canvas.fill(frame.area, frame.canvas.theme().panel);
        const OwnerChooser chooser = choose_owners(frame, *history_, "by", frame.area.left);
        const Box below = draw_filter_bar(frame, frame.area, chooser.right, *history_, "");
        ask(frame, chooser.trait);
        if (!frame.selection.measure)
            return draw_notice(
                frame.canvas, below,
                "Shift-drag over the strip above or a plot puts two cursors: this shows "
                "what came, went and stayed between them.");
        if (diff_.answer() == nullptr)
            return draw_notice(frame.canvas, below, "Looking at both moments\u2026");
        draw_rows(frame, draw_summary(frame, below));
    }

    bool busy() const override { return diff_.running(); }

  private:
    void ask(const Frame& frame, BlockTrait trait) {
        std::optional<DiffQuestion> question;
        if (const auto span =
                measured_span(*history_, frame.camera.unit(), frame.selection.measure))
            question = DiffQuestion{*span, trait, frame.selection.filter};
        const EventIndex until =
            question && question->span.last != kNever ? question->span.last : 0;
        diff_.ask(history_, question, until, moment_diff);
        if (frame.still)
            diff_.finish();
        if (diff_.answer() != nullptr && sorted_for_ != diff_.answer()->question) {
            sorted_for_ = diff_.answer()->question;
            sorted_ = *diff_.answer();
            sort_owners(sorted_, order_);
        }
    }

    // The total in a line or two.
    Box draw_summary(Frame& frame, const Box& box) const {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const OwnerDiff& all = sorted_.all;
        const Window& between = *frame.selection.measure;
        const auto moment = [&](Position position) {
            return position_text(frame.camera.unit(), position, between.length() / kFinestPart);
        };
        const float height = canvas.line_height() + canvas.px(3);
        const float left = box.left + canvas.px(8);
        const Box first{left, box.top, box.right, box.top + height};
        const std::string moments =
            fmt::format("From {} to {}: {} to {}, ", moment(between.begin), moment(between.end),
                        format_bytes(all.before()), format_bytes(all.after()));
        const float width = canvas.text({left, first.top}, moments, theme.text);
        canvas.text_within({left + width, first.top, box.right, first.bottom},
                           signed_bytes(all.change()),
                           all.change() > 0   ? theme.worse
                           : all.change() < 0 ? theme.better
                                              : theme.text);
        canvas.text_within({left, first.bottom, box.right, first.bottom + height},
                           fmt::format("{} came, {} went, {} stayed.", sum_text(all.came),
                                       sum_text(all.went), sum_text(all.stayed)),
                           theme.faint_text);
        return {box.left, first.bottom + height + canvas.px(3), box.right, box.bottom};
    }

    void draw_rows(Frame& frame, const Box& box) {
        const BlockTrait trait = sorted_.question.trait;
        TableContent content;
        content.columns = kDiffColumns;
        content.rows = sorted_.owners.size();
        content.sorted_by = sorted_by_;
        content.text = [this](std::uint64_t row, std::size_t column) {
            return cell(sorted_.owners[row], column, sorted_.question.trait == BlockTrait::stack);
        };
        Bytes most = 1;
        for (const OwnerDiff& owner : sorted_.owners)
            most = std::max({most, owner.came.bytes, owner.went.bytes});
        content.bars = [&, most](std::uint64_t row, std::size_t column) {
            return bars(frame.canvas.theme(), sorted_.owners[row], column, most);
        };
        content.look = [&](std::uint64_t row) {
            RowLook look;
            look.selected = means_owner(frame.selection.filter, trait, sorted_.owners[row].owner);
            return look;
        };
        content.empty = "No block is live at either moment, or the filter hides them all.";
        const TableTouch touch = list_.draw(frame, box, "diff", content);
        if (touch.title)
            sort_by(*touch.title);
        if (touch.hovered) {
            if (sorted_.owners[*touch.hovered].largest != kNoBlock)
                point_at_block(frame, *history_, *names_, sorted_.owners[*touch.hovered].largest);
            frame.selection.described = diff_text(*history_, sorted_);
        }
        if (touch.clicked)
            toggle_owner(frame.selection.filter, trait, sorted_.owners[*touch.clicked].owner);
    }

    static std::vector<CellBar> bars(const Theme& theme, const OwnerDiff& owner, std::size_t column,
                                     Bytes most) {
        if (column != kDiffBars)
            return {};
        const auto share = [most](Bytes bytes) {
            return 0.5 * static_cast<double>(bytes) / static_cast<double>(most);
        };
        return {{0.5 - share(owner.went.bytes), 0.5, theme.better},
                {0.5, 0.5 + share(owner.came.bytes), theme.worse}};
    }

    static std::string cell(const OwnerDiff& owner, std::size_t column, bool by_site) {
        const auto blocks = [](const BlockSum& sum) {
            return sum.blocks == 0 ? std::string() : format_count(sum.blocks);
        };
        const auto bytes = [](const BlockSum& sum) {
            return sum.blocks == 0 ? std::string() : format_bytes(sum.bytes);
        };
        switch (column) {
            case kDiffOwner:
                return one_line(by_site ? brief_call_site(owner.owner.name) : owner.owner.name, 80);
            case kDiffChange:
                return signed_bytes(owner.change());
            case kDiffCame:
                return bytes(owner.came);
            case kDiffCameBlocks:
                return blocks(owner.came);
            case kDiffWent:
                return bytes(owner.went);
            case kDiffWentBlocks:
                return blocks(owner.went);
            case kDiffStayed:
                return bytes(owner.stayed);
            case kDiffStayedBlocks:
                return blocks(owner.stayed);
            default:
                return {};
        }
    }

    void sort_by(std::size_t column) {
        sorted_by_ = column;
        order_ = column == kDiffCame     ? DiffOrder::came
                 : column == kDiffWent   ? DiffOrder::went
                 : column == kDiffStayed ? DiffOrder::stayed
                                         : DiffOrder::change;
        sort_owners(sorted_, order_);
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    AsyncQuery<DiffQuestion, MomentDiff> diff_;
    MomentDiff sorted_;  // the answer, in the order that the user chose
    std::optional<DiffQuestion> sorted_for_;
    VirtualTable list_;
    std::size_t sorted_by_ = kDiffChange;
    DiffOrder order_ = DiffOrder::change;
};

}  // namespace

ViewInfo diff_view() {
    return {"diff", "What changed", "Between two cursors: what came, went and stayed, by owner.",
            Pane::main, make_view<DiffView>};
}

}  // namespace tidemark::viz
