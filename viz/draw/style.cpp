// Styles ImGui's widgets.
#include "viz/draw/style.h"

#include <imgui.h>

namespace tidemark::viz {
namespace {

void set(ImGuiStyle& style, ImGuiCol which, Colour colour) {
    style.Colors[which] = ImGui::ColorConvertU32ToFloat4(colour);
}

void set_grounds(ImGuiStyle& style, const Theme& theme) {
    for (const ImGuiCol which : {ImGuiCol_WindowBg, ImGuiCol_MenuBarBg, ImGuiCol_TitleBg,
                                 ImGuiCol_TitleBgActive, ImGuiCol_TitleBgCollapsed})
        set(style, which, theme.ground);
    for (const ImGuiCol which : {ImGuiCol_PopupBg, ImGuiCol_ChildBg, ImGuiCol_TableHeaderBg})
        set(style, which, theme.panel);
    set(style, ImGuiCol_TableRowBg, theme.plot);
    set(style, ImGuiCol_TableRowBgAlt, mix(theme.plot, theme.text, 0.03));
    set(style, ImGuiCol_FrameBg, mix(theme.panel, theme.text, 0.08));
    set(style, ImGuiCol_FrameBgHovered, mix(theme.panel, theme.text, 0.14));
    set(style, ImGuiCol_FrameBgActive, mix(theme.panel, theme.text, 0.18));
    set(style, ImGuiCol_ScrollbarBg, theme.panel);
    set(style, ImGuiCol_ModalWindowDimBg, mix(theme.ground, theme.panel, 0.5));
}

void set_marks(ImGuiStyle& style, const Theme& theme) {
    set(style, ImGuiCol_Text, theme.text);
    set(style, ImGuiCol_TextDisabled, theme.faint_text);
    set(style, ImGuiCol_TextSelectedBg, mix(theme.panel, theme.accent, 0.45));
    for (const ImGuiCol which : {ImGuiCol_Border, ImGuiCol_Separator, ImGuiCol_TableBorderStrong,
                                 ImGuiCol_TableBorderLight})
        set(style, which, theme.border);
    for (const ImGuiCol which :
         {ImGuiCol_CheckMark, ImGuiCol_SliderGrab, ImGuiCol_SliderGrabActive, ImGuiCol_NavHighlight,
          ImGuiCol_SeparatorHovered, ImGuiCol_SeparatorActive, ImGuiCol_PlotHistogram})
        set(style, which, theme.accent);
    set(style, ImGuiCol_ScrollbarGrab, mix(theme.panel, theme.text, 0.25));
    set(style, ImGuiCol_ScrollbarGrabHovered, mix(theme.panel, theme.text, 0.35));
    set(style, ImGuiCol_ScrollbarGrabActive, mix(theme.panel, theme.accent, 0.60));
}

void set_buttons(ImGuiStyle& style, const Theme& theme) {
    const auto tint = [&theme](double share) { return mix(theme.panel, theme.accent, share); };
    for (const ImGuiCol which : {ImGuiCol_Button, ImGuiCol_Header, ImGuiCol_TabActive})
        set(style, which, tint(0.22));
    for (const ImGuiCol which :
         {ImGuiCol_ButtonHovered, ImGuiCol_HeaderHovered, ImGuiCol_TabHovered})
        set(style, which, tint(0.32));
    for (const ImGuiCol which : {ImGuiCol_ButtonActive, ImGuiCol_HeaderActive})
        set(style, which, tint(0.42));
    for (const ImGuiCol which : {ImGuiCol_Tab, ImGuiCol_TabUnfocused, ImGuiCol_ResizeGrip})
        set(style, which, theme.panel);
    set(style, ImGuiCol_TabUnfocusedActive, tint(0.22));
}

}  // namespace

void apply_style(const Theme& theme, float scale) {
    ImGuiStyle style;
    style.WindowPadding = {8, 6};
    style.FramePadding = {7, 3};
    style.ItemSpacing = {8, 4};
    style.CellPadding = {6, 2};
    style.ScrollbarSize = 12;
    style.WindowRounding = style.ChildRounding = style.FrameRounding = 0;
    style.PopupRounding = style.ScrollbarRounding = style.GrabRounding = style.TabRounding = 0;
    style.ScaleAllSizes(scale);
    style.WindowBorderSize = 0;
    style.PopupBorderSize = 1;
    // Lines as triangles: then every renderer draws them the same way.
    style.AntiAliasedLinesUseTex = false;
    set_grounds(style, theme);
    set_marks(style, theme);
    set_buttons(style, theme);
    ImGui::GetStyle() = style;
}

}  // namespace tidemark::viz
