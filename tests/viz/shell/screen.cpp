// Screen: see the header.
#include "tests/viz/shell/screen.h"

#include <catch2/catch.hpp>

namespace tidemark::viz {

Screen::Screen(Session& session, ShellHost host)
    : shell(session, std::move(host)), offscreen_({1600, 900, 1, FontChoice::built_in}) {
    ImGuiIO& io = offscreen_.io();
    io.MousePos = {-1, -1};
    io.ClipboardUserData = this;
    io.SetClipboardTextFn = [](void* self, const char* text) {
        static_cast<Screen*>(self)->clipboard = text;
    };
    frames(3);
}

void Screen::frame(const ShellInput& input) {
    offscreen_.begin(shell.theme());
    shell.draw(input);
    offscreen_.skip();
}

void Screen::frames(int count) {
    for (int i = 0; i < count; ++i)
        frame({});
}

void Screen::press(std::initializer_list<std::string_view> keys) {
    for (const std::string_view name : keys) {
        const auto press = parse_key(name);
        INFO(name);
        REQUIRE(press);
        ShellInput input;
        input.keys.push_back(*press);
        frame(input);
        frames(2);
    }
}

void Screen::type(std::string_view text) {
    for (const char letter : text)
        io().AddInputCharacter(static_cast<unsigned char>(letter));
    frames(2);
}

void Screen::move(float x, float y) {
    io().MousePos = {x, y};
    frames(2);
}

void Screen::wheel(float notches) {
    io().MouseWheel = notches;
    frame({});
    io().MouseWheel = 0;
    frame({});
}

void Screen::drag(ImVec2 from, ImVec2 to, bool shift) {
    move(from.x, from.y);
    io().KeyShift = shift;
    io().MouseDown[0] = true;
    frames(2);
    constexpr int kSteps = 8;
    for (int i = 1; i <= kSteps; ++i) {
        const float part = static_cast<float>(i) / kSteps;
        io().MousePos = {from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part};
        frames();
    }
    io().MouseDown[0] = false;
    frames(2);
    io().KeyShift = false;
}

void Screen::click(float x, float y, bool control) {
    move(x, y);
    io().KeyCtrl = control;
    io().MouseDown[0] = true;
    frames(2);
    io().MouseDown[0] = false;
    frames(2);
    io().KeyCtrl = false;
}

}  // namespace tidemark::viz
