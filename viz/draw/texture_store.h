// TextureStore: what makes a Bitmap something that draw lists can show: the OpenGL window uploads
// it, the software rasteriser reads it where it is. Whoever renders an ImGui context installs one
// there, and views needn't know which it is.
#pragma once

#include <imgui.h>

#include "viz/draw/bitmap.h"

namespace tidemark::viz {

class TextureStore {
  public:
    TextureStore() = default;
    TextureStore(const TextureStore&) = delete;
    TextureStore& operator=(const TextureStore&) = delete;
    virtual ~TextureStore() = default;

    // What draw lists of this frame call the picture. Null for a picture without pixels.
    virtual ImTextureID texture(const Bitmap& bitmap) = 0;
};

// Of the current ImGui context; null: pictures aren't shown. It must outlive the frames that are
// drawn with it.
inline void install_texture_store(TextureStore* store) {
    ImGui::GetIO().UserData = store;
}

inline TextureStore* texture_store() {
    return static_cast<TextureStore*>(ImGui::GetIO().UserData);
}

}  // namespace tidemark::viz
