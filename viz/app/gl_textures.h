// GlTextures: pictures as OpenGL textures: uploaded when their pixels are new, deleted when they
// have not been shown for a while. Only for the thread of the window's OpenGL context.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "viz/draw/texture_store.h"

namespace tidemark::viz {

class GlTextures : public TextureStore {
  public:
    ~GlTextures() override;

    ImTextureID texture(const Bitmap& bitmap) override;

    // A frame has ended: deletes what the last kKept frames have not shown.
    void end_frame();

    static constexpr std::uint64_t kKept = 120;

  private:
    struct Kept {
        unsigned name = 0;
        std::uint64_t revision = 0;
        const Colour* pixels = nullptr;
        std::uint32_t width = 0;
        std::uint32_t height = 0;
        std::uint64_t shown = 0;
    };

    static void upload(Kept& kept, const Bitmap& bitmap);

    std::unordered_map<const Bitmap*, Kept> kept_;
    std::uint64_t frame_ = 0;
};

}  // namespace tidemark::viz
