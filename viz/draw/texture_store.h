// TextureStore: makes a Bitmap available to draw lists: the OpenGL window uploads it, the software
// rasteriser reads it in place. The renderer of an ImGui context installs one there, and views
// needn't know which it is.
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

    // The picture's id in draw lists of this frame. Null for a picture without pixels.
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
