// Screen: a shell before a pretended user: mouse and keys in, what it shows out. No window, no
// pixels.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "viz/headless/offscreen.h"
#include "viz/shell/layout.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

// What is seen first: a timeline over an address map, where there is a history, or what the shell
// chooses.
enum class FirstViews : std::uint8_t { both, of_the_shell };

class Screen {
  public:
    // 1600 x 900 points; `scale` times as many pixels, which all positions count.
    explicit Screen(Session& session, ShellHost host = {}, float scale = 1,
                    FirstViews first = FirstViews::both);

    Shell shell;

    ImGuiIO& io() { return offscreen_.io(); }

    void frame(const ShellInput& input);

    // So many frames without input.
    void frames(int count = 1);

    // Presses keys, "Ctrl-Z", one after the other, a frame each and some after.
    void press(std::initializer_list<std::string_view> keys);
    void type(std::string_view text);

    void move(float x, float y);
    void wheel(float notches, bool control = false);

    // Presses, moves in steps, lets go.
    void drag(ImVec2 from, ImVec2 to, bool shift = false);
    void click(float x, float y, bool control = false);

    void click(ImVec2 at) { click(at.x, at.y); }

    void double_click(float x, float y);

    // Frames until it is so, as long as anything may take that is done on other threads; false if
    // it never is.
    bool until(const std::function<bool()>& met);

    // Moves over `area` in steps until it is so; where that was, or nothing.
    std::optional<ImVec2> sweep(const Box& area, float step, const std::function<bool()>& met);

    // Where the parts lie that are shown now.
    Layout layout();

    std::string clipboard;

  private:
    Offscreen offscreen_;
    float scale_;
};

// A screen with what it shows: `Content` has a member `session`.
template <class Content>
struct ScreenOf : Content, Screen {
    template <class... Arguments>
    explicit ScreenOf(Arguments... arguments) : Content(arguments...), Screen(this->session) {}
};

}  // namespace tidemark::viz
