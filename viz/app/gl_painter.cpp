// Paints with OpenGL.
#include <cstdint>

#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui_impl_opengl3.h>

#include "viz/app/gl_textures.h"
#include "viz/app/window_painter.h"

namespace tidemark::viz {
namespace {

constexpr const char* kGlsl = "#version 330";

class GlPainter final : public WindowPainter {
  public:
    GlPainter() {
        ImGui_ImplOpenGL3_Init(kGlsl);
        install_texture_store(&textures_);
    }

    ~GlPainter() override { ImGui_ImplOpenGL3_Shutdown(); }

    void letters_changed() override {
        if (sharpened_ == 0)
            return;  // the backend loads them by itself the first time
        ImGui_ImplOpenGL3_DestroyFontsTexture();
        ImGui_ImplOpenGL3_CreateFontsTexture();
        sharpened_ = 0;
    }

    void begin_frame() override {
        ImGui_ImplOpenGL3_NewFrame();
        sharpen_letters();
    }

    void paint(int width, int height, Colour ground) override {
        glViewport(0, 0, width, height);
        const ImVec4 colour = ImGui::ColorConvertU32ToFloat4(ground);
        glClearColor(colour.x, colour.y, colour.z, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
        textures_.end_frame();
    }

  private:
    // Letters and the white of every fill come from one texture and are aligned to whole pixels:
    // smoothing would change nothing, but cost time.
    void sharpen_letters() {
        const auto texture =
            static_cast<GLuint>(reinterpret_cast<std::uintptr_t>(ImGui::GetIO().Fonts->TexID));
        if (texture == sharpened_)
            return;
        glBindTexture(GL_TEXTURE_2D, texture);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
        sharpened_ = texture;
    }

    GlTextures textures_;
    GLuint sharpened_ = 0;
};

}  // namespace

std::unique_ptr<WindowPainter> make_gl_painter() {
    return std::make_unique<GlPainter>();
}

bool is_software(std::string_view renderer) {
    return renderer.find("llvmpipe") != std::string_view::npos ||
           renderer.find("softpipe") != std::string_view::npos ||
           renderer.find("swrast") != std::string_view::npos;
}

}  // namespace tidemark::viz
