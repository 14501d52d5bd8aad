// Writer: see the header.
#include "viz/views/overview_writer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/draw/fonts.h"
#include "viz/draw/table.h"

namespace tidemark::viz {

float Writer::line() const {
    return std::ceil(canvas.line_height() * 1.4F);
}

Box Writer::row() {
    const Box taken{box.left, box.top, box.right, box.top + line()};
    box.top += line();
    return taken;
}

namespace {

float heading_line(const Canvas& canvas) {
    return std::ceil(canvas.line_height() * 1.35F);
}

}  // namespace

float Writer::heading_height(std::string_view text) const {
    ImGui::PushFont(current_fonts().heading);
    const auto lines = static_cast<float>(wrapped(canvas, text, box.width()).size());
    const float height = heading_line(canvas) * lines;
    ImGui::PopFont();
    return height;
}

void Writer::headline(std::string_view text, Colour colour) {
    if (heading_height(text) > box.height())
        return;
    ImGui::PushFont(current_fonts().heading);
    const float height = heading_line(canvas);
    for (const std::string& line : wrapped(canvas, text, box.width())) {
        canvas.text_within({box.left, box.top, box.right, box.top + height}, line, colour);
        box.top += height;
    }
    ImGui::PopFont();
}

void Writer::heading(std::string_view text) {
    ImGui::PushFont(current_fonts().heading);
    const float height = heading_line(canvas);
    canvas.text_within({box.left, box.top, box.right, box.top + height}, text, canvas.theme().text);
    ImGui::PopFont();
    box.top += height;
}

void Writer::paragraph(std::string_view text, Colour colour) {
    const std::vector<std::string> lines = wrapped(canvas, text, box.width());
    if (!has_room(static_cast<float>(lines.size())))
        return;
    for (const std::string& part : lines)
        canvas.text_within(row(), part, colour);
}

float Writer::paragraph_height(std::string_view text) const {
    return static_cast<float>(wrapped(canvas, text, box.width()).size()) * line();
}

void Writer::bar(std::string_view name, Colour colour, double part, std::string_view figure) {
    const Box taken = row();
    const Theme& theme = canvas.theme();
    const float left = taken.left + canvas.px(kNameWidth);
    const float right = taken.right - canvas.px(kFigureWidth);
    canvas.text_within({taken.left, taken.top, left, taken.bottom}, name, theme.faint_text);
    const float pad = canvas.px(4);
    const Box whole{left, taken.top + pad, right, taken.bottom - pad};
    canvas.fill(whole, mix(theme.ground, theme.text, 0.08));
    const auto width = static_cast<float>(std::clamp(part, 0.0, 1.0)) * whole.width();
    canvas.fill({whole.left, whole.top, whole.left + std::round(width), whole.bottom}, colour);
    canvas.text_within({right + canvas.px(12), taken.top, taken.right, taken.bottom}, figure,
                       theme.text);
}

void Writer::fact(std::string_view name, std::string_view value) {
    if (value.empty() || !has_room(1))
        return;
    const Box taken = row();
    const float left = taken.left + canvas.px(kNameWidth);
    canvas.text_within({taken.left, taken.top, left, taken.bottom}, name,
                       canvas.theme().faint_text);
    canvas.text_within({left, taken.top, taken.right, taken.bottom}, value, canvas.theme().text);
}

bool clicked_line(Frame& frame, const Box& line, const std::string& id) {
    const Press press = frame.press(line, id.c_str());
    if (press.hovered) {
        const Canvas& canvas = frame.canvas;
        const float pad = canvas.px(6);
        frame.canvas.fill({line.left - pad, line.top, line.right + pad, line.bottom},
                          mix(canvas.theme().ground, canvas.theme().accent, 0.14));
    }
    return press.clicked;
}

}  // namespace tidemark::viz
