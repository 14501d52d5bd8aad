// The figures of a living program: large, with the switch to follow, in whatever state it is.
#include <catch2/catch.hpp>

#include "tests/viz/shell/sample_session.h"

namespace tidemark::viz {
namespace {

// A program that lives, its view zoomed in on.
struct LivingSession : SampleSession {
    LivingSession() {
        session.runs[0].live = LiveState{.process = 7, .now = at(40), .events_per_second = 212'000};
    }
};

// Where in the bar a click changes whether the camera follows; sought from the right.
std::optional<ImVec2> follow_switch(Screen& screen) {
    const Box bar = screen.layout().live;
    const bool before = screen.shell.camera().follows();
    for (float x = bar.right - 16; x > bar.left; x -= 12) {
        const ImVec2 at{x, bar.top + 16};
        screen.click(at);
        if (screen.shell.camera().follows() != before)
            return at;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("a living program has a bar of figures, a recording has none", "[viz][shell][live]") {
    ScreenOf<SampleSession> recorded;
    CHECK_FALSE(recorded.shell.state().has_live);
    CHECK(recorded.layout().live.height() == 0);
    ScreenOf<LivingSession> living;
    CHECK(living.shell.state().has_live);
    CHECK(living.layout().live.height() > 0);
    CHECK(living.layout().strip.top >= living.layout().live.bottom);
    living.press({"1"});  // also over a view that has the window to itself
    CHECK(living.shell.state().has_live);
}

TEST_CASE("the Follow switch is lit while the view follows, and moving away puts it out",
          "[viz][shell][live]") {
    ScreenOf<LivingSession> screen;
    screen.press({"W", "W", "W", "W"});
    const auto at = follow_switch(screen);
    REQUIRE(at);
    CHECK(screen.shell.camera().follows());
    CHECK(screen.shell.camera().window().end == screen.shell.camera().extent());
    const Box plot = screen.layout().first;
    const float middle = (plot.top + plot.bottom) / 2;
    screen.drag({600, middle}, {800, middle});
    CHECK_FALSE(screen.shell.camera().follows());
    screen.click(*at);
    CHECK(screen.shell.camera().follows());
    screen.click(*at);
    CHECK_FALSE(screen.shell.camera().follows());
    screen.press({"L"});
    CHECK(screen.shell.camera().follows());
}

TEST_CASE("a program that has ended keeps its figures, and nothing to follow",
          "[viz][shell][live]") {
    ScreenOf<LivingSession> screen;
    screen.session.runs[0].live->alive = false;
    screen.session.runs[0].live->died = true;
    screen.frames(2);
    CHECK(screen.shell.state().has_live);
    CHECK_FALSE(follow_switch(screen));
}

TEST_CASE("keys go from step to step", "[viz][shell][steps]") {
    ScreenOf<SampleSession> without;
    without.press({"K"});
    CHECK(has(without.shell.state().message, "no steps"));

    support::SmallHistory sample;
    for (int number = 1; number < 4; ++number) {
        const std::string name = fmt::format("step {}", number);
        sample.begin(name).idle().idle().end(name);
    }
    Session session;
    ViewedRun run;
    run.history = sample.build();
    run.state.phase = LoadState::Phase::ready;
    session.runs.push_back(std::move(run));
    Screen screen(session);
    screen.press({"K", "K"});
    CHECK(has(screen.shell.state().message, "step 2"));
    screen.press({"J"});
    CHECK(has(screen.shell.state().message, "step 1"));
    screen.press({"J"});
    CHECK(has(screen.shell.state().message, "No step before"));
}

}  // namespace tidemark::viz
