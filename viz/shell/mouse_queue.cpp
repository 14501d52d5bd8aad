// One frame's share of what the mouse did.
#include "viz/shell/mouse_queue.h"

#include <algorithm>
#include <cfloat>

namespace tidemark::viz {

void MouseQueue::move(float x, float y) {
    if (!events_.empty() && events_.back().kind == Kind::move)
        events_.pop_back();  // only the last position matters
    events_.push_back({Kind::move, x, y, 0, false});
}

void MouseQueue::press(int button, bool down) {
    if (button >= 0 && static_cast<std::size_t>(button) < kButtons)
        events_.push_back({Kind::press, 0, 0, static_cast<std::size_t>(button), down});
}

void MouseQueue::turn(float across, float down) {
    events_.push_back({Kind::turn, across, down, 0, false});
}

void MouseQueue::apply(ImGuiIO& io, bool inside) {
    const bool held = std::find(down_.begin(), down_.end(), true) != down_.end();
    bool moved = false;
    bool pressed = false;
    bool turned = false;
    for (; !events_.empty(); events_.pop_front()) {
        const Event& event = events_.front();
        // Moves and the wheel belong to the buttons and the position at their time; if a button was
        // released after a move, ImGui must have seen the move while it was down.
        if (pressed || (turned && event.kind != Kind::turn) ||
            (held && moved && event.kind == Kind::press))
            break;
        if (event.kind == Kind::move) {
            position_ = {event.x, event.y};
            moved = true;
        } else if (event.kind == Kind::press) {
            down_[event.button] = event.down;
            pressed = true;
        } else {
            io.MouseWheelH += event.x;
            io.MouseWheel += event.y;
            turned = true;
        }
    }
    const bool holds = std::find(down_.begin(), down_.end(), true) != down_.end();
    io.MousePos = inside || held || holds ? position_ : ImVec2{-FLT_MAX, -FLT_MAX};
    std::copy(down_.begin(), down_.end(), io.MouseDown);
}

}  // namespace tidemark::viz
