// Looks GLFW and OpenGL up, and defines their functions' names.
#include "viz/app/window_library.h"

#include <string>
#include <string_view>

#include <GLFW/glfw3.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "viz/app/window.h"

namespace tidemark::viz {
namespace {

constexpr const char* kGlfw = "libglfw.so.3";

void* glfw_library = nullptr;

template <class Function>
Function look_up(const char* name) {
    if (std::string_view(name).starts_with("glfw"))
        return reinterpret_cast<Function>(dlsym(glfw_library, name));
    return reinterpret_cast<Function>(glfwGetProcAddress(name));
}

}  // namespace

Result<void> load_window_library() {
    if (glfw_library == nullptr)
        glfw_library = dlopen(kGlfw, RTLD_NOW | RTLD_LOCAL);
    std::string why;
    if (glfw_library == nullptr)
        why = dlerror();
    else if (dlsym(glfw_library, "glfwGetError") == nullptr)
        why = fmt::format("{} is older than GLFW 3.3", kGlfw);
    else
        return {};
    return fail(ErrorCode::unsupported, fmt::format("no window can be opened: {}", why), {},
                fmt::format("install GLFW and OpenGL (Debian, Ubuntu: libglfw3 and libgl1); {}",
                            kWithoutWindow));
}

}  // namespace tidemark::viz

// A function of theirs, for us and for ImGui: looked up on the first call.
#define TIDEMARK_WINDOW_CALL(result, name, parameters, ...)                         \
    result name parameters {                                                        \
        static const auto found = tidemark::viz::look_up<decltype(&(name))>(#name); \
        return found(__VA_ARGS__);                                                  \
    }

TIDEMARK_WINDOW_CALL(GLFWcursor*, glfwCreateStandardCursor, (int shape), shape)
TIDEMARK_WINDOW_CALL(GLFWwindow*, glfwCreateWindow,
                     (int width, int height, const char* title, GLFWmonitor* monitor,
                      GLFWwindow* share),
                     width, height, title, monitor, share)
TIDEMARK_WINDOW_CALL(void, glfwDestroyCursor, (GLFWcursor * cursor), cursor)
TIDEMARK_WINDOW_CALL(void, glfwDestroyWindow, (GLFWwindow * window), window)
TIDEMARK_WINDOW_CALL(const char*, glfwGetClipboardString, (GLFWwindow * window), window)
TIDEMARK_WINDOW_CALL(void, glfwGetCursorPos, (GLFWwindow * window, double* x, double* y), window, x,
                     y)
TIDEMARK_WINDOW_CALL(int, glfwGetError, (const char** description), description)
TIDEMARK_WINDOW_CALL(void, glfwGetFramebufferSize, (GLFWwindow * window, int* width, int* height),
                     window, width, height)
TIDEMARK_WINDOW_CALL(int, glfwGetGamepadState, (int number, GLFWgamepadstate* state), number, state)
TIDEMARK_WINDOW_CALL(int, glfwGetInputMode, (GLFWwindow * window, int mode), window, mode)
TIDEMARK_WINDOW_CALL(const float*, glfwGetJoystickAxes, (int number, int* count), number, count)
TIDEMARK_WINDOW_CALL(const unsigned char*, glfwGetJoystickButtons, (int number, int* count), number,
                     count)
TIDEMARK_WINDOW_CALL(int, glfwGetKey, (GLFWwindow * window, int key), window, key)
TIDEMARK_WINDOW_CALL(const char*, glfwGetKeyName, (int key, int scancode), key, scancode)
TIDEMARK_WINDOW_CALL(int, glfwGetMouseButton, (GLFWwindow * window, int button), window, button)
TIDEMARK_WINDOW_CALL(GLFWglproc, glfwGetProcAddress, (const char* procname), procname)
TIDEMARK_WINDOW_CALL(double, glfwGetTime, ())
TIDEMARK_WINDOW_CALL(int, glfwGetWindowAttrib, (GLFWwindow * window, int attrib), window, attrib)
TIDEMARK_WINDOW_CALL(void, glfwGetWindowContentScale,
                     (GLFWwindow * window, float* xscale, float* yscale), window, xscale, yscale)
TIDEMARK_WINDOW_CALL(void, glfwGetWindowSize, (GLFWwindow * window, int* width, int* height),
                     window, width, height)
TIDEMARK_WINDOW_CALL(void*, glfwGetWindowUserPointer, (GLFWwindow * window), window)
TIDEMARK_WINDOW_CALL(int, glfwInit, ())
TIDEMARK_WINDOW_CALL(void, glfwMakeContextCurrent, (GLFWwindow * window), window)
TIDEMARK_WINDOW_CALL(void, glfwPollEvents, ())
TIDEMARK_WINDOW_CALL(GLFWcharfun, glfwSetCharCallback, (GLFWwindow * window, GLFWcharfun call),
                     window, call)
TIDEMARK_WINDOW_CALL(void, glfwSetClipboardString, (GLFWwindow * window, const char* string),
                     window, string)
TIDEMARK_WINDOW_CALL(void, glfwSetCursor, (GLFWwindow * window, GLFWcursor* cursor), window, cursor)
TIDEMARK_WINDOW_CALL(GLFWcursorenterfun, glfwSetCursorEnterCallback,
                     (GLFWwindow * window, GLFWcursorenterfun call), window, call)
TIDEMARK_WINDOW_CALL(void, glfwSetCursorPos, (GLFWwindow * window, double x, double y), window, x,
                     y)
TIDEMARK_WINDOW_CALL(GLFWcursorposfun, glfwSetCursorPosCallback,
                     (GLFWwindow * window, GLFWcursorposfun call), window, call)
TIDEMARK_WINDOW_CALL(GLFWdropfun, glfwSetDropCallback, (GLFWwindow * window, GLFWdropfun call),
                     window, call)
TIDEMARK_WINDOW_CALL(GLFWerrorfun, glfwSetErrorCallback, (GLFWerrorfun call), call)
TIDEMARK_WINDOW_CALL(GLFWframebuffersizefun, glfwSetFramebufferSizeCallback,
                     (GLFWwindow * window, GLFWframebuffersizefun call), window, call)
TIDEMARK_WINDOW_CALL(void, glfwSetInputMode, (GLFWwindow * window, int mode, int value), window,
                     mode, value)
TIDEMARK_WINDOW_CALL(GLFWkeyfun, glfwSetKeyCallback, (GLFWwindow * window, GLFWkeyfun call), window,
                     call)
TIDEMARK_WINDOW_CALL(GLFWmonitorfun, glfwSetMonitorCallback, (GLFWmonitorfun call), call)
TIDEMARK_WINDOW_CALL(GLFWmousebuttonfun, glfwSetMouseButtonCallback,
                     (GLFWwindow * window, GLFWmousebuttonfun call), window, call)
TIDEMARK_WINDOW_CALL(GLFWscrollfun, glfwSetScrollCallback,
                     (GLFWwindow * window, GLFWscrollfun call), window, call)
TIDEMARK_WINDOW_CALL(GLFWwindowclosefun, glfwSetWindowCloseCallback,
                     (GLFWwindow * window, GLFWwindowclosefun call), window, call)
TIDEMARK_WINDOW_CALL(GLFWwindowcontentscalefun, glfwSetWindowContentScaleCallback,
                     (GLFWwindow * window, GLFWwindowcontentscalefun call), window, call)
TIDEMARK_WINDOW_CALL(GLFWwindowfocusfun, glfwSetWindowFocusCallback,
                     (GLFWwindow * window, GLFWwindowfocusfun call), window, call)
TIDEMARK_WINDOW_CALL(GLFWwindowrefreshfun, glfwSetWindowRefreshCallback,
                     (GLFWwindow * window, GLFWwindowrefreshfun call), window, call)
TIDEMARK_WINDOW_CALL(void, glfwSetWindowShouldClose, (GLFWwindow * window, int value), window,
                     value)
TIDEMARK_WINDOW_CALL(void, glfwSetWindowSizeLimits,
                     (GLFWwindow * window, int minwidth, int minheight, int maxwidth,
                      int maxheight),
                     window, minwidth, minheight, maxwidth, maxheight)
TIDEMARK_WINDOW_CALL(void, glfwSetWindowUserPointer, (GLFWwindow * window, void* pointer), window,
                     pointer)
TIDEMARK_WINDOW_CALL(void, glfwSwapBuffers, (GLFWwindow * window), window)
TIDEMARK_WINDOW_CALL(void, glfwSwapInterval, (int interval), interval)
TIDEMARK_WINDOW_CALL(void, glfwTerminate, ())
TIDEMARK_WINDOW_CALL(void, glfwWaitEventsTimeout, (double timeout), timeout)
TIDEMARK_WINDOW_CALL(void, glfwWindowHint, (int hint, int value), hint, value)
TIDEMARK_WINDOW_CALL(int, glfwWindowShouldClose, (GLFWwindow * window), window)

TIDEMARK_WINDOW_CALL(void, glBindTexture, (GLenum target, GLuint texture), target, texture)
TIDEMARK_WINDOW_CALL(void, glClear, (GLbitfield mask), mask)
TIDEMARK_WINDOW_CALL(void, glClearColor,
                     (GLclampf red, GLclampf green, GLclampf blue, GLclampf alpha), red, green,
                     blue, alpha)
TIDEMARK_WINDOW_CALL(void, glDeleteTextures, (GLsizei n, const GLuint* textures), n, textures)
TIDEMARK_WINDOW_CALL(void, glFinish, ())
TIDEMARK_WINDOW_CALL(void, glGenTextures, (GLsizei n, GLuint* textures), n, textures)
TIDEMARK_WINDOW_CALL(const GLubyte*, glGetString, (GLenum name), name)
TIDEMARK_WINDOW_CALL(void, glPixelStorei, (GLenum pname, GLint param), pname, param)
TIDEMARK_WINDOW_CALL(void, glReadPixels,
                     (GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type,
                      GLvoid* pixels),
                     x, y, width, height, format, type, pixels)
TIDEMARK_WINDOW_CALL(void, glTexImage2D,
                     (GLenum target, GLint level, GLint internalFormat, GLsizei width,
                      GLsizei height, GLint border, GLenum format, GLenum type,
                      const GLvoid* pixels),
                     target, level, internalFormat, width, height, border, format, type, pixels)
TIDEMARK_WINDOW_CALL(void, glTexParameteri, (GLenum target, GLenum pname, GLint param), target,
                     pname, param)
TIDEMARK_WINDOW_CALL(void, glTexSubImage2D,
                     (GLenum target, GLint level, GLint xoffset, GLint yoffset, GLsizei width,
                      GLsizei height, GLenum format, GLenum type, const GLvoid* pixels),
                     target, level, xoffset, yoffset, width, height, format, type, pixels)
TIDEMARK_WINDOW_CALL(void, glViewport, (GLint x, GLint y, GLsizei width, GLsizei height), x, y,
                     width, height)
