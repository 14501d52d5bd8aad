// Draws a frame: the positions of the window's parts, and each part into its box.
#include <algorithm>

#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr float kStripHeight = 54;  // points

void draw_views(ShellParts& parts, const Layout& layout, float scale) {
    const std::vector<std::size_t> strips = views_in(Pane::strip);
    const float each =
        strips.empty() ? 0 : layout.strip.height() / static_cast<float>(strips.size());
    for (std::size_t i = 0; i < strips.size(); ++i) {
        const float top = layout.strip.top + each * static_cast<float>(i);
        draw_pane(parts, strips[i], {layout.strip.left, top, layout.strip.right, top + each},
                  scale);
    }
    if (!parts.main.empty())
        draw_pane(parts, parts.main.front(), layout.first, scale);
    if (parts.main.size() > 1)
        draw_pane(parts, parts.main[1], layout.second, scale);
}

// Positions of the window's parts. A requested table takes the room of the second view if there is
// not enough for both.
Layout lay_out_window(ShellParts& parts, bool has_views, float scale) {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    // Side column and tables are about blocks, which runs over tiers don't have: a requested table
    // says so.
    const bool has_blocks = has_views && parts.run()->history;
    const bool fills = fills_window(parts);
    Splits splits = parts.splits;
    splits.has_side = splits.has_side && has_blocks && !fills && !views_in(Pane::side).empty();
    splits.has_table = has_table(parts) && (has_blocks || (has_views && parts.has_chosen_table));
    splits.strip_height = has_views && !fills && !views_in(Pane::strip).empty() ? kStripHeight : 0;
    splits.is_split = parts.main.size() > 1;
    splits.has_live = has_views && shows_live(parts);
    Layout layout = lay_out(size.x, size.y, scale, ImGui::GetFontSize(), splits);
    const auto lacks_table = [&] { return splits.has_table && layout.table.height() <= 0; };
    if (lacks_table() && parts.wants_table && splits.is_split) {
        parts.has_chosen_main = true;
        parts.main.pop_back();
        splits.is_split = false;
        layout = lay_out(size.x, size.y, scale, ImGui::GetFontSize(), splits);
    }
    parts.wants_table = parts.wants_table && !has_views;
    parts.sees_table = !lacks_table();
    parts.draws_table = !has_views || layout.table.height() > 0;
    parts.draws_side = layout.side.width() > 0;
    return layout;
}

void draw_window(ShellParts& parts, float scale) {
    const Page page = page_of(parts);
    const bool has_views = page == Page::views;
    const Layout layout = lay_out_window(parts, has_views, scale);
    Canvas canvas = parts.canvas(scale);
    draw_header(parts, canvas, layout.header);
    if (page != Page::empty)
        draw_tabs(parts, canvas, layout.tabs);
    draw_status(parts, canvas, layout.status);
    if (!has_views) {
        draw_page(parts, page, layout.first, scale);
        return;
    }
    if (layout.live.height() > 0)
        draw_live_bar(parts, canvas, layout.live);
    parts.selection.hot_block.reset();
    parts.selection.described.clear();
    parts.selection.detail.clear();
    parts.selection.shows_measured = false;
    draw_views(parts, layout, scale);
    draw_side(parts, canvas, layout.side, scale);
    if (layout.table.height() > 0) {
        draw_table_tabs(parts, canvas, layout.table_tabs);
        draw_pane(parts, *parts.table, layout.table, scale);
    }
    draw_splitters(parts, canvas, layout);
}

}  // namespace

bool fills_window(const ShellParts& parts) {
    return parts.main.size() == 1 && all_views()[parts.main.front()].fills;
}

bool has_table(const ShellParts& parts) {
    return parts.splits.has_table && parts.table &&
           (parts.has_chosen_table || !fills_window(parts));
}

void draw_root(ShellParts& parts, float scale) {
    const ImGuiIO& io = ImGui::GetIO();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(io.DisplaySize);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
    ImGui::Begin("tidemark", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar();
    draw_window(parts, scale);
    ImGui::End();
}

}  // namespace tidemark::viz
