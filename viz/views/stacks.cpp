// Stacks: bytes by call stack as an icicle, the outermost frame on top, or the innermost; next to
// it the call sites that hold most, and the stack of one of them. A click on a bar zooms in, a
// click on the path above goes back; a click on a site or a frame filters all views by it.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "viz/draw/filter_bar.h"
#include "viz/draw/table.h"
#include "viz/draw/tip.h"
#include "viz/model/blocks/stack_totals.h"
#include "viz/model/session/async_query.h"
#include "viz/views/inspection.h"
#include "viz/views/map_paint.h"
#include "viz/views/site_list.h"
#include "viz/views/view.h"

namespace tidemark::viz {
namespace {

enum class Choice : std::uint8_t { cursor, peak, allocated, growth };

constexpr std::array<std::string_view, 4> kChoices{"at the cursor", "at the peak", "allocated",
                                                   "growth"};

constexpr float kRulesWidth = 150;          // points
constexpr std::size_t kLongestRules = 256;  // letters

constexpr std::string_view kRulesHelp =
    "Frames to leave out: torch, python (its own library), c++,";
constexpr std::string_view kRulesHelpMore = "and any part of a file's path, separated by blanks.";

class StacksView final : public View {
  public:
    void draw(Frame& frame) override {
        const Shown shown = follow_shown(frame, history_, names_);
        if (shown == Shown::nothing)
            return draw_no_history(frame);
        if (shown == Shown::another) {
            top_.reset();
            sites_.show(std::nullopt);
        }
        frame.canvas.fill(frame.area, frame.canvas.theme().panel);
        const Box below = draw_choices(frame, frame.area);
        ask(frame);
        const StackTotals* const totals = totals_.answer();
        if (totals == nullptr || totals->bytes() == 0)
            return draw_notice(frame.canvas, below, no_totals(totals));
        if (totals != nullptr && drawn_ != totals->question) {
            drawn_ = totals->question;
            top_.reset();
            first_row_ = 0;
        }
        draw_parts(frame, below, *totals);
    }

    bool busy() const override { return totals_.running(); }

  private:
    Box draw_choices(Frame& frame, const Box& box) {
        Canvas& canvas = frame.canvas;
        float right = 0;
        const ImVec2 at{box.left + canvas.px(6), box.top + canvas.px(3)};
        choice_ = static_cast<Choice>(
            choose(frame, at, "totals", kChoices, static_cast<std::size_t>(choice_), right));
        right = draw_look(frame, right + canvas.px(8), at.y);
        return draw_filter_bar(frame, box, right, *history_, total(frame));
    }

    // Chips for folding and for the direction of the tree, and the editable rules of folding.
    // Returns where they end.
    float draw_look(Frame& frame, float x, float y) {
        Canvas& canvas = frame.canvas;
        StackLook& look = frame.selection.stacks;
        if (draw_chip(frame, x, y, "inverted", look.inverted))
            look.inverted = !look.inverted;
        if (draw_chip(frame, x, y, "fold", look.folds))
            look.folds = !look.folds;
        if (!look.folds || frame.still)
            return x + canvas.px(4);
        const float width = canvas.px(kRulesWidth);
        if (!edits_rules_)
            rules_.fill('\0');
        if (!edits_rules_)
            look.folded.copy(rules_.data(), rules_.size() - 1);
        ImGui::SetCursorScreenPos({x, y});
        ImGui::SetNextItemWidth(width);
        if (ImGui::InputText("##rules", rules_.data(), rules_.size()))
            look.folded = rules_.data();
        edits_rules_ = ImGui::IsItemActive();
        if (ImGui::IsItemHovered() && !edits_rules_)
            draw_tip(frame.canvas, kRulesHelp, kRulesHelpMore);
        return x + width + canvas.px(4);
    }

    std::string folded(const Frame& frame) const {
        const StackLook& look = frame.selection.stacks;
        return look.folds ? look.folded : std::string();
    }

    std::string total(const Frame& frame) const {
        const StackTotals* const totals = totals_.answer();
        if (totals_.running() || totals == nullptr)
            return totals_.running() ? "adding up\u2026" : "";
        std::string text = fmt::format("{} in {}", format_bytes(totals->bytes()),
                                       format_counted(totals->blocks(), "block"));
        if (choice_ == Choice::allocated || choice_ == Choice::growth)
            text += frame.selection.measure ? " between the two cursors" : " over the whole run";
        else if (choice_ == Choice::cursor)
            text = cursor_text(*history_, frame) + ": " + text;
        if (totals->shrunk > 0)
            text += fmt::format("; elsewhere {} less", format_bytes(totals->shrunk));
        return text;
    }

    std::optional<TotalsQuestion> question_of(const Frame& frame) const {
        TotalsQuestion question;
        question.filter = frame.selection.filter;
        question.folded = folded(frame);
        question.inverted = frame.selection.stacks.inverted;
        if (history_->counts().events == 0)
            return std::nullopt;
        if (choice_ == Choice::allocated || choice_ == Choice::growth) {
            const auto span =
                measured_span(*history_, frame.camera.unit(), frame.selection.measure);
            const auto last = static_cast<EventIndex>(history_->counts().events - 1);
            question.of = choice_ == Choice::growth ? TotalsOf::growth : TotalsOf::allocated;
            question.span = span.value_or(EventSpan{kNever, last});
            return question;
        }
        const std::optional<Instant> instant =
            instant_of(frame.run(), frame.camera.unit(),
                       choice_ == Choice::peak ? std::nullopt : frame.selection.cursor);
        if (!instant)
            return std::nullopt;
        question.event = instant->event;
        return question;
    }

    void ask(const Frame& frame) {
        const std::optional<TotalsQuestion> question = question_of(frame);
        const EventIndex until = !question                        ? 0
                                 : question->of == TotalsOf::live ? question->event
                                                                  : question->span.last;
        totals_.ask(history_, question, until, stack_totals);
        if (frame.still)
            totals_.finish();
    }

    void draw_parts(Frame& frame, const Box& box, const StackTotals& totals) {
        Canvas& canvas = frame.canvas;
        const bool wide = box.width() > canvas.px(820);
        const float middle = wide ? std::floor(box.left + box.width() * 0.64F) : box.right;
        const Box left{box.left, box.top, middle, box.bottom};
        if (history_->stacks().size() <= 1)
            draw_notice(canvas, left,
                        "No stacks were recorded, so there is nothing to add up by. In PyTorch: "
                        "torch.cuda.memory._record_memory_history(stacks='all') before the run.");
        else
            draw_icicle(frame, draw_path(frame, left, totals), totals);
        if (wide) {
            sites_.draw(frame, {middle + 1, box.top, box.right, box.bottom}, totals, *history_,
                        *names_);
            canvas.vertical(middle, box.top, box.bottom, canvas.theme().border);
        }
    }

    std::string name_of(const StackTotals& totals, std::uint32_t node) const {
        if (node == 0)
            return "all stacks";
        const tidemark::Frame& at = totals.nodes[node].frame;
        return at.name == 0 && at.file == 0 ? "no stack recorded"
                                            : brief_call_site(names_->frame(at));
    }

    std::string full_name(const StackTotals& totals, std::uint32_t node) const {
        const std::string brief = name_of(totals, node);
        const std::string full = names_->frame(totals.nodes[node].frame);
        return node == 0 || full.empty() ? brief : full;
    }

    // The frames above the topmost one that is shown, innermost last; a click goes back to one.
    Box draw_path(Frame& frame, const Box& box, const StackTotals& totals) {
        Canvas& canvas = frame.canvas;
        const float height = canvas.line_height() + canvas.px(8);
        const Box line{box.left + canvas.px(8), box.top + canvas.px(4), box.right - canvas.px(8),
                       box.top + height};
        const std::uint32_t top = shown_top(totals);
        if (top == 0)
            return box;
        const std::vector<std::uint32_t> path = path_to(totals, top);
        // As many of the innermost as fit; the rest is shown as a number.
        const std::string_view arrow = "  >  ";
        float room = line.width() - canvas.text_width("all stacks  >  000 frames  >  ");
        std::size_t first = path.size();
        while (first > 1) {
            const float width = canvas.text_width(one_line(name_of(totals, path[first - 1]), 40)) +
                                canvas.text_width(arrow);
            if (width > room)
                break;
            room -= width;
            --first;
        }
        float left = line.left;
        left = path_word(frame, {left, line.top}, "all stacks", 0, top);
        if (first > 1)
            left += canvas.text({left, line.top}, fmt::format("  >  {} frames", first - 1),
                                canvas.theme().faint_text);
        for (std::size_t i = std::max<std::size_t>(first, 1); i < path.size(); ++i) {
            left += canvas.text({left, line.top}, arrow, canvas.theme().faint_text);
            left = path_word(frame, {left, line.top}, one_line(name_of(totals, path[i]), 40),
                             path[i], top);
        }
        return {box.left, box.top + height, box.right, box.bottom};
    }

    // One word of the path; returns where it ends.
    float path_word(Frame& frame, ImVec2 at, const std::string& word, std::uint32_t node,
                    std::uint32_t top) {
        Canvas& canvas = frame.canvas;
        const float width = canvas.text_width(word);
        const Box box{at.x, at.y, at.x + width, at.y + canvas.line_height()};
        if (node != top && frame.press(box, "path", node).clicked) {
            top_ = node;
            first_row_ = 0;
        }
        canvas.text(at, word, node == top ? canvas.theme().text : canvas.theme().accent);
        return at.x + width;
    }

    // Until a user chooses: the frame at which stacks diverge.
    std::uint32_t shown_top(const StackTotals& totals) const {
        return std::min<std::uint32_t>(top_.value_or(where_stacks_part(totals)),
                                       static_cast<std::uint32_t>(totals.nodes.size() - 1));
    }

    void draw_icicle(Frame& frame, const Box& area, const StackTotals& totals) {
        Canvas& canvas = frame.canvas;
        const Box box = area.inset(canvas.px(6));
        if (box.width() < canvas.px(60) || box.height() < canvas.px(20))
            return;
        const float height = std::ceil(canvas.line_height() + canvas.px(5));
        const auto rows = static_cast<std::uint32_t>(box.height() / height) + 1;
        take_wheel(frame, box, totals, rows);
        const double narrowest = static_cast<double>(canvas.px(3) / box.width());
        const std::vector<IcicleBar> bars =
            icicle(totals, shown_top(totals), narrowest, first_row_, rows);
        const IcicleBar* under = nullptr;
        canvas.clip(box);
        for (const IcicleBar& bar : bars) {
            const Box at = bar_box(box, bar, height);
            const bool hovered =
                !frame.still && at.contains(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered();
            if (hovered)
                under = &bar;
            draw_bar(frame, at, bar, totals, hovered);
        }
        canvas.unclip();
        if (under != nullptr)
            take_bar(frame, *under, totals);
    }

    Box bar_box(const Box& box, const IcicleBar& bar, float height) const {
        const float top = box.top + height * static_cast<float>(bar.row - first_row_);
        const auto x = [&box](double share) {
            return std::round(box.left + static_cast<float>(share) * box.width());
        };
        // A pixel of the ground between neighbours.
        return {x(bar.left), top, std::max(x(bar.right) - 1, x(bar.left) + 1), top + height - 1};
    }

    void draw_bar(Frame& frame, const Box& box, const IcicleBar& bar, const StackTotals& totals,
                  bool hovered) {
        Canvas& canvas = frame.canvas;
        const Theme& theme = canvas.theme();
        const TotalsNode& node = totals.nodes[bar.node];
        // One colour for each file, so that parts of a program can be told apart.
        const Colour hue =
            category(theme, node.frame.file == 0 ? node.frame.name : node.frame.file);
        Colour ground = mix(theme.panel, bar.merged > 0 ? theme.border : hue, 0.45);
        if (hovered)
            ground = mix(ground, theme.text, 0.2);
        canvas.fill(box, ground);
        const float pad = canvas.px(4);
        if (box.width() < 2 * pad + canvas.px(16))
            return;
        const std::string name =
            bar.merged > 0 ? fmt::format("{} more", bar.merged) : name_of(totals, bar.node);
        const std::string bytes = format_bytes(bar.bytes);
        const float width = canvas.text_width(bytes);
        const float middle = box.top + (box.height() - canvas.line_height()) / 2;
        Box label{box.left + pad, middle, box.right - pad, box.bottom};
        if (label.width() > width + canvas.px(90)) {
            canvas.text({label.right, middle}, bytes, theme.text, Align::right);
            label.right -= width + canvas.px(10);
        }
        canvas.text_within(label, name, theme.text);
    }

    void take_wheel(const Frame& frame, const Box& box, const StackTotals& totals,
                    std::uint32_t rows) {
        const std::uint32_t depth = totals.depth - totals.nodes[shown_top(totals)].depth + 1;
        const std::uint32_t last = depth + 1 > rows ? depth + 1 - rows : 0;
        const ImGuiIO& io = ImGui::GetIO();
        if (!frame.still && io.MouseWheel != 0 && box.contains(io.MousePos) &&
            ImGui::IsWindowHovered()) {
            if (io.MouseWheel > 0)
                first_row_ -= std::min(first_row_, 3U);
            else
                first_row_ += 3;
        }
        first_row_ = std::min(first_row_, last);
    }

    void take_bar(Frame& frame, const IcicleBar& bar, const StackTotals& totals) {
        const TotalsNode& node = totals.nodes[bar.node];
        const std::string what = bar.merged > 0 ? fmt::format("{} callees, each too small to show",
                                                              format_count(bar.merged))
                                                : full_name(totals, bar.node);
        std::string figures = fmt::format("{}, {} of the total", format_bytes(bar.bytes),
                                          format_share(bar.bytes, totals.bytes()));
        if (bar.merged == 0) {
            figures += fmt::format(" in {}", format_counted(node.blocks, "block"));
            if (node.own > 0 && node.own < node.bytes)
                figures += fmt::format("; {} of it in this frame", format_bytes(node.own));
        }
        frame.selection.described = what + "\n" + figures;
        draw_tip(frame.canvas, what, figures);
        if (ImGui::IsMouseClicked(0) && bar.merged == 0) {
            const bool is_top = bar.node == shown_top(totals);
            top_ = is_top ? node.parent : bar.node;
            sites_.show(node.stack);
            first_row_ = 0;
        }
    }

    std::string no_totals(const StackTotals* totals) const {
        if (totals_.running())
            return "Adding up\u2026";
        const bool stretch = choice_ == Choice::allocated || choice_ == Choice::growth;
        if (totals != nullptr && totals->shrunk > 0)
            return fmt::format("Nothing grew over this range; {} less is live at its end.",
                               format_bytes(totals->shrunk));
        if (stretch)
            return "Nothing was allocated in this range, or the filter hides it. Shift-drag over "
                   "a plot measures another one.";
        return "No block is live there, or the filter hides them all.";
    }

    std::shared_ptr<const History> history_;
    std::unique_ptr<SiteNames> names_;
    AsyncQuery<TotalsQuestion, StackTotals> totals_;
    SiteList sites_;
    std::array<char, kLongestRules> rules_{};
    bool edits_rules_ = false;
    Choice choice_ = Choice::cursor;
    std::optional<TotalsQuestion> drawn_;
    std::optional<std::uint32_t> top_;  // the node that the user looks at
    std::uint32_t first_row_ = 0;
};

}  // namespace

ViewInfo stacks_view() {
    return {"stacks", "Stacks", "Bytes by call stack, as an icicle and a list of call sites.",
            Pane::main, make_view<StacksView>};
}

}  // namespace tidemark::viz
