// RasterTextures: what the software rasteriser draws with, for the current ImGui context: the
// letters of its fonts, and pictures where they are.
#pragma once

#include <deque>

#include "viz/draw/texture_store.h"
#include "viz/headless/rasteriser.h"

namespace tidemark::viz {

class RasterTextures final : public TextureStore {
  public:
    // Takes the letters of the context's fonts as they are now; again when they have changed.
    void take_letters();

    ImTextureID texture(const Bitmap& bitmap) override;

    // A frame is over, and with it the pictures that it showed.
    void forget() { textures_.clear(); }

  private:
    Texture letters_;
    std::deque<Texture> textures_;  // of this frame; addresses stay
};

}  // namespace tidemark::viz
