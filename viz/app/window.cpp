// The window, over GLFW and ImGui's backends for it and OpenGL 3.
#include "viz/app/window.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>

#include "viz/app/window_keys.h"
#include "viz/app/window_library.h"
#include "viz/app/window_painter.h"
#include "viz/draw/fonts.h"
#include "viz/draw/style.h"
#include "viz/shell/mouse_queue.h"

namespace tidemark::viz {

struct GlWindow::Parts {
    GLFWwindow* window = nullptr;
    WindowOptions options;
    std::unique_ptr<WindowPainter> painter;  // exists as long as the context
    ShellInput input;
    MouseQueue mouse;
    bool touched = true;  // an event that changes the picture
    float scale = 1;
    float loaded_scale = 0;  // of the fonts
    const Theme* theme = nullptr;
    bool styled_dark = false;

    float monitor_scale() const;
    void load_letters();
};

namespace {

std::string last_error() {
    const char* text = nullptr;
    glfwGetError(&text);
    return text == nullptr ? "GLFW gives no reason" : text;
}

std::string renderer_name() {
    const auto* name = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
    return name == nullptr ? "OpenGL" : name;
}

tl::unexpected<Error> no_window(const std::string& what) {
    return fail(ErrorCode::unsupported, fmt::format("no window can be opened: {}", what), {},
                fmt::format("a window needs a display and OpenGL (Debian, Ubuntu: libgl1); {}",
                            kWithoutWindow));
}

}  // namespace

// Callbacks for GLFW. ImGui's backend gets the keys; the mouse has a queue of its own.
struct GlWindow::Events {
    static GlWindow::Parts& parts(GLFWwindow* window) {
        return *static_cast<GlWindow::Parts*>(glfwGetWindowUserPointer(window));
    }

    static void key(GLFWwindow* window, int code, int scancode, int action, int modifiers) {
        GlWindow::Parts& parts = Events::parts(window);
        parts.touched = true;
        ImGui_ImplGlfw_KeyCallback(window, code, scancode, action, modifiers);
        if (action == GLFW_RELEASE)
            return;
        if (const auto press = pressed_key(code, scancode, modifiers))
            parts.input.keys.push_back(*press);
    }

    static void typed(GLFWwindow* window, unsigned sign) {
        GlWindow::Parts& parts = Events::parts(window);
        parts.touched = true;
        ImGui_ImplGlfw_CharCallback(window, sign);
        if (const auto press = typed_key(sign))
            parts.input.keys.push_back(*press);
    }

    static void dropped(GLFWwindow* window, int count, const char** paths) {
        GlWindow::Parts& parts = Events::parts(window);
        parts.touched = true;
        for (int i = 0; i < count; ++i)
            parts.input.dropped.emplace_back(paths[i]);
    }

    static void moved(GLFWwindow* window, double x, double y) {
        parts(window).touched = true;
        parts(window).mouse.move(static_cast<float>(x), static_cast<float>(y));
    }

    static void pressed(GLFWwindow* window, int button, int action, int /*modifiers*/) {
        parts(window).touched = true;
        parts(window).mouse.press(button, action == GLFW_PRESS);
    }

    static void turned(GLFWwindow* window, double across, double down) {
        parts(window).touched = true;
        parts(window).mouse.turn(static_cast<float>(across), static_cast<float>(down));
    }

    static void focused(GLFWwindow* window, int on) {
        parts(window).touched = true;
        ImGui_ImplGlfw_WindowFocusCallback(window, on);
    }

    static void entered(GLFWwindow* window, int inside) {
        parts(window).touched = true;
        ImGui_ImplGlfw_CursorEnterCallback(window, inside);
    }

    template <class... Values>
    static void touch(GLFWwindow* window, Values... /*what*/) {
        parts(window).touched = true;
    }

    static void install(GLFWwindow* window) {
        glfwSetKeyCallback(window, key);
        glfwSetCharCallback(window, typed);
        glfwSetDropCallback(window, dropped);
        glfwSetMouseButtonCallback(window, pressed);
        glfwSetCursorPosCallback(window, moved);
        glfwSetCursorEnterCallback(window, entered);
        glfwSetScrollCallback(window, turned);
        glfwSetWindowFocusCallback(window, focused);
        glfwSetFramebufferSizeCallback(window, touch<int, int>);
        glfwSetWindowContentScaleCallback(window, touch<float, float>);
        glfwSetWindowRefreshCallback(window, touch<>);
        glfwSetWindowCloseCallback(window, touch<>);
    }
};

// Where a window's unit is not a pixel (it is on X11), the system scales by itself.
float GlWindow::Parts::monitor_scale() const {
    if (options.scale > 0)
        return options.scale;
    float across = 1;
    float down = 1;
    glfwGetWindowContentScale(window, &across, &down);
    int width = 0;
    int pixels = 0;
    int ignored = 0;
    glfwGetWindowSize(window, &width, &ignored);
    glfwGetFramebufferSize(window, &pixels, &ignored);
    const float enlarged =
        width > 0 && pixels > 0 ? static_cast<float>(pixels) / static_cast<float>(width) : 1.0F;
    return std::clamp(across / enlarged, kSmallestScale, kLargestScale);
}

void GlWindow::Parts::load_letters() {
    ImGuiIO& io = ImGui::GetIO();
    load_fonts(*io.Fonts, scale, options.built_in_font ? FontChoice::built_in : FontChoice::system);
    painter->letters_changed();
    loaded_scale = scale;
}

namespace {

// The picture that has been drawn and not been shown yet.
Bitmap read_back(int width, int height) {
    Bitmap bitmap;
    bitmap.width = static_cast<std::uint32_t>(width);
    bitmap.height = static_cast<std::uint32_t>(height);
    bitmap.pixels.resize(std::size_t{bitmap.width} * bitmap.height);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, bitmap.pixels.data());
    const auto row = [&bitmap](std::uint32_t y) {
        return bitmap.pixels.begin() + static_cast<std::ptrdiff_t>(std::size_t{y} * bitmap.width);
    };
    for (std::uint32_t y = 0; y < bitmap.height / 2; ++y)  // OpenGL begins at the bottom
        std::swap_ranges(row(y), row(y + 1), row(bitmap.height - 1 - y));
    for (Colour& pixel : bitmap.pixels)
        pixel |= 0xff000000U;
    bitmap.revision = next_bitmap_revision();
    return bitmap;
}

}  // namespace

Result<std::unique_ptr<GlWindow>> GlWindow::open(const WindowOptions& options) {
    TM_TRY(load_window_library());
    if (glfwInit() == GLFW_FALSE)
        return no_window(last_error());
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
    glfwWindowHint(GLFW_SAMPLES, 0);  // edges are on whole pixels; samples would only cost time
    auto parts = std::make_unique<Parts>();
    parts->options = options;
    parts->window =
        glfwCreateWindow(static_cast<int>(options.width), static_cast<int>(options.height),
                         options.title.c_str(), nullptr, nullptr);
    if (parts->window == nullptr) {
        auto error = no_window(last_error());
        glfwTerminate();
        return error;
    }
    glfwSetWindowSizeLimits(parts->window, 640, 480, GLFW_DONT_CARE, GLFW_DONT_CARE);
    glfwSetWindowUserPointer(parts->window, parts.get());
    glfwMakeContextCurrent(parts->window);
    glfwSwapInterval(options.as_fast_as_it_goes ? 0 : 1);
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplGlfw_InitForOpenGL(parts->window, false);
    Events::install(parts->window);
    parts->painter = is_software(renderer_name()) ? make_software_painter() : make_gl_painter();
    parts->scale = parts->monitor_scale();
    parts->load_letters();
    return std::unique_ptr<GlWindow>(new GlWindow(std::move(parts)));
}

GlWindow::GlWindow(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

GlWindow::~GlWindow() {
    parts_->painter.reset();
    ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
    glfwDestroyWindow(parts_->window);
    glfwTerminate();
}

bool GlWindow::closing() const {
    return glfwWindowShouldClose(parts_->window) == GLFW_TRUE;
}

void GlWindow::close() {
    glfwSetWindowShouldClose(parts_->window, GLFW_TRUE);
}

bool GlWindow::wait(double seconds) {
    if (seconds > 0 && !parts_->touched)
        glfwWaitEventsTimeout(seconds);
    else
        glfwPollEvents();
    return std::exchange(parts_->touched, false);
}

ShellInput GlWindow::take_input() {
    parts_->scale = parts_->monitor_scale();
    ShellInput input = std::exchange(parts_->input, {});
    input.scale = parts_->scale;
    for (const char letter : {'w', 'a', 's', 'd'}) {
        const int code = letter - 'a' + 'A';
        if (glfwGetKey(parts_->window, code) == GLFW_PRESS)
            input.held.push_back(key(letter));
    }
    return input;
}

void GlWindow::begin(const Theme& theme) {
    if (parts_->loaded_scale != parts_->scale) {
        parts_->load_letters();
        parts_->theme = nullptr;
    }
    if (parts_->theme == nullptr || parts_->styled_dark != theme.dark)
        apply_style(theme, parts_->scale);
    parts_->theme = &theme;
    parts_->styled_dark = theme.dark;
    parts_->painter->begin_frame();
    ImGui_ImplGlfw_NewFrame();
    parts_->mouse.apply(ImGui::GetIO(),
                        glfwGetWindowAttrib(parts_->window, GLFW_HOVERED) == GLFW_TRUE);
    parts_->touched = parts_->touched || !parts_->mouse.empty();
    ImGui::NewFrame();
}

void GlWindow::end(Bitmap* copy) {
    ImGui::Render();
    int width = 0;
    int height = 0;
    glfwGetFramebufferSize(parts_->window, &width, &height);
    parts_->painter->paint(width, height, parts_->theme->ground);
    if (copy != nullptr)
        *copy = read_back(width, height);
    glfwSwapBuffers(parts_->window);
}

void GlWindow::finish() {
    glFinish();
}

std::string GlWindow::renderer() const {
    return renderer_name();
}

}  // namespace tidemark::viz
