// Uploads pictures to the graphics card. Uses nothing newer than OpenGL 1.2.
#include "viz/app/gl_textures.h"

#include <array>

#include <GLFW/glfw3.h>

namespace tidemark::viz {
namespace {

constexpr GLint kClampToEdge = 0x812f;  // GL_CLAMP_TO_EDGE, which old headers lack
constexpr std::array<GLenum, 2> kFilters = {{GL_TEXTURE_MIN_FILTER, GL_TEXTURE_MAG_FILTER}};
constexpr std::array<GLenum, 2> kSides = {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T};

}  // namespace

GlTextures::~GlTextures() {
    for (const auto& [bitmap, kept] : kept_)
        glDeleteTextures(1, &kept.name);
}

void GlTextures::upload(Kept& kept, const Bitmap& bitmap) {
    const auto width = static_cast<int>(bitmap.width);
    const auto height = static_cast<int>(bitmap.height);
    const bool fits = kept.name != 0 && kept.width == bitmap.width && kept.height == bitmap.height;
    if (kept.name == 0)
        glGenTextures(1, &kept.name);
    glBindTexture(GL_TEXTURE_2D, kept.name);
    if (fits) {
        glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE,
                        bitmap.pixels.data());
    } else {
        for (const GLenum filter : kFilters)
            glTexParameteri(GL_TEXTURE_2D, filter, GL_NEAREST);
        for (const GLenum side : kSides)
            glTexParameteri(GL_TEXTURE_2D, side, kClampToEdge);
        glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                     bitmap.pixels.data());
    }
    kept.revision = bitmap.revision;
    kept.pixels = bitmap.pixels.data();
    kept.width = bitmap.width;
    kept.height = bitmap.height;
}

ImTextureID GlTextures::texture(const Bitmap& bitmap) {
    const std::size_t count = std::size_t{bitmap.width} * bitmap.height;
    if (count == 0 || bitmap.pixels.size() < count)
        return nullptr;
    Kept& kept = kept_[&bitmap];
    if (kept.name == 0 || kept.revision != bitmap.revision || kept.pixels != bitmap.pixels.data() ||
        kept.width != bitmap.width || kept.height != bitmap.height)
        upload(kept, bitmap);
    kept.shown = frame_;
    return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(kept.name));
}

void GlTextures::end_frame() {
    std::erase_if(kept_, [this](const auto& entry) {
        const bool old = entry.second.shown + kKept < frame_;
        if (old)
            glDeleteTextures(1, &entry.second.name);
        return old;
    });
    ++frame_;
}

}  // namespace tidemark::viz
