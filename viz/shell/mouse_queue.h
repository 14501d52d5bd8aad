// MouseQueue: what the mouse did, played back to ImGui over as many frames as it takes: a button
// that goes down and up between two frames, or moves while it is down, would otherwise be lost or
// be a click somewhere else. (ImGui itself does this from 1.87 on.)
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include <imgui.h>

namespace tidemark::viz {

class MouseQueue {
  public:
    static constexpr std::size_t kButtons = 5;

    void move(float x, float y);
    void press(int button, bool down);
    void turn(float across, float down);

    // Passes to ImGui what belongs to one frame. `inside`: the mouse is over the window.
    void apply(ImGuiIO& io, bool inside);

    bool empty() const { return events_.empty(); }

  private:
    enum class Kind : std::uint8_t { move, press, turn };

    struct Event {
        Kind kind = Kind::move;
        float x = 0;
        float y = 0;
        std::size_t button = 0;
        bool down = false;
    };

    std::deque<Event> events_;
    ImVec2 position_{0, 0};
    std::array<bool, kButtons> down_{};
};

}  // namespace tidemark::viz
