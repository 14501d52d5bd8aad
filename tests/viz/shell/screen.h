// Screen: a shell before a pretended user: mouse and keys in, what it shows out. No window, no
// pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viz/headless/offscreen.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

class Screen {
  public:
    explicit Screen(Session& session, ShellHost host = {});

    Shell shell;

    ImGuiIO& io() { return offscreen_.io(); }

    // So many frames without input.
    void frames(int count = 1);

    // Presses keys, "Ctrl-Z", one after the other, a frame each and some after.
    void press(std::initializer_list<std::string_view> keys);
    void type(std::string_view text);

    void move(float x, float y);
    void wheel(float notches);

    // Presses, moves in steps, lets go.
    void drag(ImVec2 from, ImVec2 to, bool shift = false);
    void click(float x, float y, bool control = false);

    std::string clipboard;

  private:
    void frame(const ShellInput& input);

    Offscreen offscreen_;
};

}  // namespace tidemark::viz
