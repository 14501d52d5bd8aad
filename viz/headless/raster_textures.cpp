// Textures of the software rasteriser.
#include "viz/headless/raster_textures.h"

namespace tidemark::viz {

void RasterTextures::take_letters() {
    ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    fonts.GetTexDataAsAlpha8(&pixels, &width, &height);
    letters_ = {static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), pixels,
                nullptr};
    fonts.SetTexID(&letters_);
}

ImTextureID RasterTextures::texture(const Bitmap& bitmap) {
    const std::size_t count = std::size_t{bitmap.width} * bitmap.height;
    if (count == 0 || bitmap.pixels.size() < count)
        return nullptr;
    textures_.push_back({bitmap.width, bitmap.height, nullptr, bitmap.pixels.data()});
    return &textures_.back();
}

}  // namespace tidemark::viz
