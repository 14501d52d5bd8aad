// Screen: see the header.
#include "tests/viz/shell/screen.h"

#include <chrono>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

namespace tidemark::viz {

namespace {

// A double click may not become of two clicks.
constexpr int kFramesBetweenClicks = 20;

// "Ctrl-Z", "w", "Tab": the press that key sheets print so; letters may be small.
KeyPress press_of(std::string name) {
    if (const char last = name.back(); last >= 'a' && last <= 'z' && name.size() == 1)
        name.back() = static_cast<char>(last - 'a' + 'A');
    for (unsigned code = 1; code <= static_cast<unsigned>(Key::f3); ++code)
        for (const unsigned held : {0U, 1U, 2U, 4U, 3U, 5U, 6U, 7U}) {
            const KeyPress press{static_cast<Key>(code), (held & 1U) != 0, (held & 2U) != 0,
                                 (held & 4U) != 0};
            if ((code < 'A' || code > 'Z') && to_text(press) == name)
                return press;
        }
    FAIL("no key is called " << name);
    return {};
}

// Since 1.87 ImGui has them from events.
void hold_control(ImGuiIO& io, bool held) {
#if IMGUI_VERSION_NUM < 18700
    io.KeyCtrl = held;
#else
    io.AddKeyEvent(ImGuiMod_Ctrl, held);
#endif
}

void hold_shift(ImGuiIO& io, bool held) {
#if IMGUI_VERSION_NUM < 18700
    io.KeyShift = held;
#else
    io.AddKeyEvent(ImGuiMod_Shift, held);
#endif
}

OffscreenOptions options(float scale) {
    return {static_cast<std::uint32_t>(1600 * scale), static_cast<std::uint32_t>(900 * scale),
            scale, FontChoice::built_in};
}

}  // namespace

Screen::Screen(Session& session, ShellHost host, float scale, FirstViews first)
    : shell(session, std::move(host)), offscreen_(options(scale)), scale_(scale) {
    ImGuiIO& io = offscreen_.io();
    io.MousePos = {-1, -1};
    io.ClipboardUserData = this;
    io.SetClipboardTextFn = [](void* self, const char* text) {
        static_cast<Screen*>(self)->clipboard = text;
    };
    const bool has_history = !session.runs.empty() && session.runs.front().history;
    if (first == FirstViews::both && has_history)
        REQUIRE(shell.show("timeline+address-map"));
    frames(3);
}

void Screen::frame(const ShellInput& input) {
    offscreen_.begin(shell.theme());
    ShellInput scaled = input;
    scaled.scale = scale_;
    shell.draw(scaled);
    offscreen_.skip();
}

void Screen::frames(int count) {
    for (int i = 0; i < count; ++i)
        frame({});
}

void Screen::press(std::initializer_list<std::string_view> keys) {
    for (const std::string_view name : keys) {
        ShellInput input;
        input.keys.push_back(press_of(std::string(name)));
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

void Screen::wheel(float notches, bool control) {
    hold_control(io(), control);
    io().MouseWheel = notches;
    frame({});
    hold_control(io(), false);
    io().MouseWheel = 0;
    frame({});
}

void Screen::drag(ImVec2 from, ImVec2 to, bool shift) {
    move(from.x, from.y);
    hold_shift(io(), shift);
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
    hold_shift(io(), false);
}

void Screen::click(float x, float y, bool control) {
    move(x, y);
    hold_control(io(), control);
    io().MouseDown[0] = true;
    frames(2);
    io().MouseDown[0] = false;
    frames(2);
    hold_control(io(), false);
}

void Screen::double_click(float x, float y) {
    frames(kFramesBetweenClicks);
    click(x, y);
    click(x, y);
    frames(kFramesBetweenClicks);
}

bool Screen::until(const std::function<bool()>& met) {
    constexpr int kMost = 10'000;
    for (int i = 0; i < kMost; ++i) {
        frames();
        if (met())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

std::optional<ImVec2> Screen::sweep(const Box& area, float step, const std::function<bool()>& met) {
    for (float y = area.top; y < area.bottom; y += step)
        for (float x = area.left; x < area.right; x += step) {
            move(x, y);
            if (met())
                return ImVec2{x, y};
        }
    return std::nullopt;
}

Layout Screen::layout() {
    const ShellState state = shell.state();
    Splits splits;
    splits.has_side = !state.side.empty();
    splits.has_table = !state.table.empty();
    splits.is_split = state.main.size() > 1;
    splits.strip_height = state.has_strip ? 54 : 0;
    splits.has_live = state.has_live;
    const ImVec2 size = io().DisplaySize;
    return lay_out(size.x, size.y, scale_, ImGui::GetFontSize(), splits);
}

}  // namespace tidemark::viz
