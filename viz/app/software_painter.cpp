// Paints with the software rasteriser; OpenGL copies the picture to the window.
#include <cstddef>
#include <cstdint>

#include <imgui.h>

#define GLFW_INCLUDE_GLEXT
#include <GLFW/glfw3.h>

#include "viz/app/window_painter.h"
#include "viz/headless/raster_textures.h"

namespace tidemark::viz {
namespace {

template <class Function>
Function loaded(const char* name) {
    return reinterpret_cast<Function>(glfwGetProcAddress(name));
}

class SoftwarePainter final : public WindowPainter {
  public:
    SoftwarePainter() {
        ImGuiIO& io = ImGui::GetIO();
        io.BackendRendererName = "tidemark";
        io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
        install_texture_store(&textures_);
        glGenTextures(1, &texture_);
        loaded<PFNGLGENFRAMEBUFFERSPROC>("glGenFramebuffers")(1, &source_);
        bind_ = loaded<PFNGLBINDFRAMEBUFFERPROC>("glBindFramebuffer");
        attach_ = loaded<PFNGLFRAMEBUFFERTEXTURE2DPROC>("glFramebufferTexture2D");
        copy_ = loaded<PFNGLBLITFRAMEBUFFERPROC>("glBlitFramebuffer");
    }

    ~SoftwarePainter() override {
        loaded<PFNGLDELETEFRAMEBUFFERSPROC>("glDeleteFramebuffers")(1, &source_);
        glDeleteTextures(1, &texture_);
    }

    void letters_changed() override { textures_.take_letters(); }

    void begin_frame() override {}

    void paint(int width, int height, Colour ground) override {
        bitmap_.width = static_cast<std::uint32_t>(width);
        bitmap_.height = static_cast<std::uint32_t>(height);
        bitmap_.pixels.assign(std::size_t{bitmap_.width} * bitmap_.height, ground);
        rasterise(*ImGui::GetDrawData(), bitmap_);
        textures_.forget();
        glBindTexture(GL_TEXTURE_2D, texture_);
        if (width != width_ || height != height_)
            resize(width, height);
        else
            glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE,
                            bitmap_.pixels.data());
        // OpenGL's first row is the lowest.
        bind_(GL_READ_FRAMEBUFFER, source_);
        copy_(0, 0, width, height, 0, height, width, 0, GL_COLOR_BUFFER_BIT, GL_NEAREST);
        bind_(GL_READ_FRAMEBUFFER, 0);
    }

  private:
    void resize(int width, int height) {
        width_ = width;
        height_ = height;
        glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
                     bitmap_.pixels.data());
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
        bind_(GL_READ_FRAMEBUFFER, source_);
        attach_(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
    }

    RasterTextures textures_;
    Bitmap bitmap_;
    GLuint texture_ = 0;
    GLuint source_ = 0;
    int width_ = 0;
    int height_ = 0;
    PFNGLBINDFRAMEBUFFERPROC bind_ = nullptr;
    PFNGLFRAMEBUFFERTEXTURE2DPROC attach_ = nullptr;
    PFNGLBLITFRAMEBUFFERPROC copy_ = nullptr;
};

}  // namespace

std::unique_ptr<WindowPainter> make_software_painter() {
    return std::make_unique<SoftwarePainter>();
}

}  // namespace tidemark::viz
