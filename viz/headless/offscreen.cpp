// A screen in memory.
#include "viz/headless/offscreen.h"

#include <algorithm>

#include "viz/draw/style.h"

namespace tidemark::viz {

Offscreen::Offscreen(const OffscreenOptions& options)
    : context_(ImGui::CreateContext()), scale_(options.scale) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.DisplaySize = {static_cast<float>(options.width), static_cast<float>(options.height)};
    io.MouseDrawCursor = false;
    load_fonts(*io.Fonts, options.scale, options.fonts);
    textures_.take_letters();
    install_texture_store(&textures_);
    bitmap_.width = options.width;
    bitmap_.height = options.height;
}

Offscreen::~Offscreen() {
    ImGui::DestroyContext(context_);
}

ImGuiIO& Offscreen::io() {
    ImGui::SetCurrentContext(context_);
    return ImGui::GetIO();
}

void Offscreen::begin(const Theme& theme) {
    ImGui::SetCurrentContext(context_);
    if (theme_ == nullptr || styled_dark_ != theme.dark)
        apply_style(theme, scale_);
    theme_ = &theme;
    styled_dark_ = theme.dark;
    ImGui::GetIO().DeltaTime = 1.0F / 60;
    ImGui::NewFrame();
}

const Bitmap& Offscreen::end() {
    ImGui::Render();
    bitmap_.pixels.assign(std::size_t{bitmap_.width} * bitmap_.height, theme_->ground);
    rasterise(*ImGui::GetDrawData(), bitmap_);
    bitmap_.revision = next_bitmap_revision();
    textures_.forget();
    return bitmap_;
}

void Offscreen::skip() {
    ImGui::Render();
    textures_.forget();
}

}  // namespace tidemark::viz
