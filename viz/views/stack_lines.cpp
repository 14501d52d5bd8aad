// Lines are made when another stack is shown.
#include "viz/views/stack_lines.h"

#include <array>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/frame_fold.h"

namespace tidemark::viz {
namespace {

constexpr std::array<VirtualColumn, 1> kStackLinesColumns{
    {{"stack, innermost first", Align::left, false, true}}};

}  // namespace

std::optional<std::string> StackLines::draw(Frame& frame, const Box& box, const History& history,
                                            const SiteNames& names, std::uint32_t stack,
                                            const std::string& folded) {
    Question question{&history, stack, folded};
    if (question_ != question) {
        question_ = std::move(question);
        lay_out(names, frame.still);
    }
    TableContent content;
    content.columns = kStackLinesColumns;
    content.rows = lines_.size();
    content.text = [this](std::uint64_t row, std::size_t) { return lines_[row].text; };
    content.look = [&](std::uint64_t row) {
        RowLook look;
        if (lines_[row].function == 0)
            look.text = frame.canvas.theme().faint_text;
        return look;
    };
    content.empty = "No stack was recorded.";
    const TableTouch touch = list_.draw(frame, box, "stack", content);
    if (touch.hovered) {
        frame.selection.described.clear();
        for (const std::string& line : names.frames(stack))
            frame.selection.described += line + "\n";
    }
    if (!touch.clicked || lines_[*touch.clicked].function == 0)
        return std::nullopt;
    return std::string(history.strings()[lines_[*touch.clicked].function]);
}

void StackLines::lay_out(const SiteNames& names, bool still) {
    lines_.clear();
    const History& history = *question_->history;
    const FrameFold fold(history, question_->folded);
    const std::span<const tidemark::Frame> frames = history.stacks()[question_->stack];
    const bool folds = fold.shown(frames).size() < frames.size();
    std::size_t hidden = 0;
    const auto say_hidden = [&] {
        if (hidden > 0)
            lines_.push_back({fmt::format("    {} folded", format_counted(hidden, "frame")), 0});
        hidden = 0;
    };
    for (const tidemark::Frame& at : frames) {
        if (folds && fold.folds(at)) {
            ++hidden;
            continue;
        }
        say_hidden();
        lines_.push_back({names.frame(at), at.name});
        if (still)
            continue;
        std::string source = sources_.line(history.strings()[at.file], at.line);
        if (!source.empty())
            lines_.push_back({"        " + std::move(source), 0});
    }
    say_hidden();
}

}  // namespace tidemark::viz
