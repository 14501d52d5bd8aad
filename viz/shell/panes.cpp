// Views in panes of their own: each is an ImGui window that clips it and takes its mouse.
#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

tl::unexpected<Error> no_view(std::string_view name) {
    std::vector<std::string_view> names;
    for (const ViewInfo& info : all_views())
        names.push_back(info.name);
    const std::string_view near = nearest(name, names);
    return fail(ErrorCode::not_found, fmt::format("there is no view '{}'", name), "--view",
                near.empty() ? fmt::format("give one of {}", fmt::join(names, ", "))
                             : fmt::format("did you mean {}?", near));
}

}  // namespace

std::vector<std::size_t> views_in(Pane pane) {
    std::vector<std::size_t> indexes;
    const auto views = all_views();
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (views[i].pane == pane)
            indexes.push_back(i);
    }
    return indexes;
}

std::optional<std::size_t> find_view(std::string_view name) {
    const auto views = all_views();
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (views[i].name == name)
            return i;
    }
    return std::nullopt;
}

Result<void> show_views(ShellParts& parts, std::string_view names) {
    bool below = false;
    for (std::size_t begin = 0; begin <= names.size();) {
        const std::size_t end = std::min(names.find('+', begin), names.size());
        const std::string_view name = names.substr(begin, end - begin);
        const auto index = find_view(name);
        if (!index)
            return no_view(name);
        show_view(parts, *index, below);
        below = below || all_views()[*index].pane == Pane::main;
        begin = end + 1;
    }
    return {};
}

void draw_pane(ShellParts& parts, std::size_t view, const Box& box, float scale) {
    if (box.width() < 8 || box.height() < 8)
        return;
    const ViewInfo& info = all_views()[view];
    ImGui::SetCursorScreenPos({box.left, box.top});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
    const std::string id(info.name);
    // No ground: blending one over the window is what a software renderer would take longest for.
    ImGui::BeginChild(id.c_str(), {box.width(), box.height()}, false,
                      ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoScrollbar |
                          ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar();
    Canvas canvas = parts.canvas(scale);
    if (info.pane == Pane::side)
        canvas.offer_texts(parts.texts);
    else
        canvas.end_tips_at(box.right);
    if (info.pane == Pane::side || info.pane == Pane::table)
        canvas.fill(box, canvas.theme().panel);
    Frame frame{parts.session, parts.camera, parts.selection, parts.search,
                canvas,        box,          parts.still};
    frame.replays = static_cast<bool>(parts.host.replay);
    frame.opens = static_cast<bool>(parts.host.open);
    frame.measured = &parts.measured;
    frame.texts = parts.texts;
    parts.selection.drawn_view = info.name;
    parts.view(view).draw(frame);
    ImGui::EndChild();
}

void draw_side(ShellParts& parts, Canvas& canvas, const Box& box, float scale) {
    const std::vector<std::size_t> views = views_in(Pane::side);
    if (views.empty() || box.width() < 8)
        return;
    if (!parts.side)
        parts.side = views.front();
    Box rest = box;
    if (views.size() > 1) {
        rest.top += canvas.line_height() + canvas.px(12);
        canvas.fill({box.left, box.top, box.right, rest.top}, canvas.theme().panel);
        draw_view_tabs(parts, canvas, {box.left, box.top, box.right, rest.top}, Pane::side);
    }
    draw_pane(parts, *parts.side, rest, scale);
}

}  // namespace tidemark::viz
