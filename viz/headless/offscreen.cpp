// A screen in memory.
#include "viz/headless/offscreen.h"

#include <algorithm>

#include "viz/draw/style.h"

namespace tidemark::viz {

Offscreen::Offscreen(const OffscreenOptions& options)
    : context_(ImGui::CreateContext()), fonts_(options.fonts), scale_(options.scale) {
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.MouseDrawCursor = false;
    load_letters();
    install_texture_store(&textures_);
    resize(options.width, options.height, options.scale);
}

Offscreen::~Offscreen() {
    ImGui::DestroyContext(context_);
}

ImGuiIO& Offscreen::io() {
    ImGui::SetCurrentContext(context_);
    return ImGui::GetIO();
}

void Offscreen::load_letters() {
    load_fonts(*ImGui::GetIO().Fonts, scale_, fonts_);
    textures_.take_letters();
}

void Offscreen::resize(std::uint32_t width, std::uint32_t height, float scale) {
    io().DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
    bitmap_.width = width;
    bitmap_.height = height;
    if (scale == scale_)
        return;
    scale_ = scale;
    theme_ = nullptr;
    load_letters();
}

void Offscreen::begin(const Theme& theme, float seconds) {
    ImGui::SetCurrentContext(context_);
    if (theme_ == nullptr || styled_dark_ != theme.dark)
        apply_style(theme, scale_);
    theme_ = &theme;
    styled_dark_ = theme.dark;
    ImGui::GetIO().DeltaTime = seconds;
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
