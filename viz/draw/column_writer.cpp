// ColumnWriter: see the header.
#include "viz/draw/column_writer.h"

#include <algorithm>
#include <cmath>

#include "viz/draw/table.h"

namespace tidemark::viz {
namespace {

constexpr float kColumnWriterPad = 12;  // points at both sides
constexpr float kLabel = 84;            // points for the labels of facts
constexpr float kWheelLines = 3;        // a notch
constexpr float kColumnWriterBar = 4;   // points: the line that shows how far the column is
                                        // scrolled

}  // namespace

ColumnWriter::ColumnWriter(Frame& frame, const Box& box, float& scroll)
    : frame_(frame),
      box_(box),
      scroll_(scroll),
      line_(std::ceil(frame.canvas.line_height() * 1.3F)) {
    const ImGuiIO& io = ImGui::GetIO();
    if (!frame.still && box.contains(io.MousePos) && ImGui::IsWindowHovered())
        scroll_ = std::max(0.0F, scroll_ - io.MouseWheel * kWheelLines * line_);
    top_ = box.top + frame.canvas.px(8) - std::round(scroll_);
    frame.canvas.fill(box, frame.canvas.theme().panel);
    frame.canvas.clip(box);
}

ColumnWriter::~ColumnWriter() {
    Canvas& canvas = frame_.canvas;
    const float length = top_ + std::round(scroll_) - box_.top + line_;
    const float beyond = std::max(0.0F, length - box_.height());
    if (beyond > 0) {
        const float share = box_.height() / length;
        const float top = box_.top + scroll_ / length * box_.height();
        canvas.fill({box_.right - canvas.px(kColumnWriterBar), top, box_.right,
                     top + std::max(canvas.px(16), share * box_.height())},
                    mix(canvas.theme().panel, canvas.theme().text, 0.3));
    }
    scroll_ = std::min(scroll_, beyond);
    canvas.unclip();
}

bool ColumnWriter::seen(float height) const {
    return top_ + height > box_.top && top_ < box_.bottom;
}

void ColumnWriter::heading(std::string_view title, std::string_view remark) {
    Canvas& canvas = frame_.canvas;
    const float pad = canvas.px(kColumnWriterPad);
    const float width = canvas.text_width(title);
    canvas.text_within({box_.left + pad, top_, box_.right - pad, top_ + canvas.line_height()},
                       title, canvas.theme().text);
    const float after = box_.left + pad + width + canvas.px(10);
    if (after + canvas.px(40) < box_.right - pad)
        canvas.text_within({after, top_, box_.right - pad, top_ + canvas.line_height()}, remark,
                           canvas.theme().faint_text, Align::right);
    top_ += line_;
    canvas.horizontal(top_ - canvas.px(2), box_.left + pad, box_.right - pad,
                      canvas.theme().border);
    top_ += canvas.px(4);
}

void ColumnWriter::figure(std::string_view label, std::string_view value,
                          std::optional<Colour> mark) {
    Canvas& canvas = frame_.canvas;
    const float pad = canvas.px(kColumnWriterPad);
    if (seen(line_)) {
        const float side = canvas.px(9);
        const float left = box_.left + pad + side + canvas.px(7);
        if (mark) {
            const float from = std::floor(top_ + (canvas.line_height() - side) / 2);
            canvas.fill({box_.left + pad, from, box_.left + pad + side, from + side}, *mark);
        }
        const float width = canvas.text_width(value);
        canvas.text({box_.right - pad, top_}, value, canvas.theme().text, Align::right);
        canvas.text_within(
            {left, top_, box_.right - pad - width - canvas.px(8), top_ + canvas.line_height()},
            label, canvas.theme().faint_text);
    }
    top_ += line_;
}

void ColumnWriter::fact(std::string_view label, std::string_view value) {
    Canvas& canvas = frame_.canvas;
    const float pad = canvas.px(kColumnWriterPad);
    const float left = box_.left + pad + canvas.px(kLabel);
    const float right = box_.right - pad;
    canvas.text_within({box_.left + pad, top_, left - canvas.px(4), top_ + canvas.line_height()},
                       label, canvas.theme().faint_text);
    for (const std::string& text : wrapped(canvas, value, std::max(right - left, canvas.px(40)))) {
        if (seen(line_))
            canvas.text_within({left, top_, right, top_ + canvas.line_height()}, text,
                               canvas.theme().text);
        top_ += line_;
    }
}

void ColumnWriter::paragraph(std::string_view text, Colour colour) {
    Canvas& canvas = frame_.canvas;
    const float pad = canvas.px(kColumnWriterPad);
    for (const std::string& line : wrapped(canvas, text, box_.width() - 2 * pad)) {
        if (seen(line_))
            canvas.text_within(
                {box_.left + pad, top_, box_.right - pad, top_ + canvas.line_height()}, line,
                colour);
        top_ += line_;
    }
}

bool ColumnWriter::link(std::string_view text) {
    Canvas& canvas = frame_.canvas;
    const float pad = canvas.px(kColumnWriterPad);
    const float width = std::min(canvas.text_width(text), box_.width() - 2 * pad);
    const Box link{box_.left + pad, top_, box_.left + pad + width, top_ + line_};
    const Press press = seen(line_) ? frame_.press(link, "link", links_++) : Press{};
    const Box at{box_.left + pad, top_, box_.right - pad, top_ + line_};
    canvas.text_within(at, text, canvas.theme().accent);
    if (press.hovered)
        canvas.horizontal(top_ + canvas.line_height(), at.left, at.left + width,
                          canvas.theme().accent);
    top_ += line_;
    return press.clicked;
}

void ColumnWriter::gap() {
    top_ += std::ceil(line_ * 0.6F);
}

}  // namespace tidemark::viz
