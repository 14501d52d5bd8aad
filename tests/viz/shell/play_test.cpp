// Playing, and replaying what a finding suggests beside what it was.
#include <catch2/catch.hpp>

#include "tests/viz/shell/sample_session.h"

namespace tidemark::viz {

TEST_CASE("Space plays: the cursor runs over the window, and stays at its end",
          "[viz][shell][play]") {
    ScreenOf<SampleSession> screen(2U);
    REQUIRE(screen.shell.show("side-by-side"));
    const Window window = screen.shell.camera().window();
    screen.press({"Space"});
    REQUIRE(screen.shell.selection().plays);
    REQUIRE(screen.shell.selection().cursor);
    const Position began = *screen.shell.selection().cursor;
    CHECK(began < window.begin + window.length() / 4);
    screen.frames(30);
    CHECK(*screen.shell.selection().cursor > began);
    screen.press({"Space"});
    CHECK_FALSE(screen.shell.selection().plays);
    const Position stopped = *screen.shell.selection().cursor;
    screen.frames(10);
    CHECK(*screen.shell.selection().cursor == stopped);
    screen.press({"Space"});
    screen.frames(600);
    CHECK_FALSE(screen.shell.selection().plays);
    CHECK(*screen.shell.selection().cursor == window.end - 1);
}

TEST_CASE("U replays the suggested setting, and shows both side by side", "[viz][shell][play]") {
    SampleSession opened(2);
    opened.session.runs[0].findings.push_back({Finding::Weight::warning,
                                               "Another setting needs less", "", kNever, kNoBlock,
                                               "torch:x=1"});
    std::string replayed;
    ShellHost host;
    host.replay = [&replayed](std::size_t run, const std::string& policy) -> Result<std::size_t> {
        replayed = policy;
        return run + 1;
    };
    Screen screen(opened.session, host);
    screen.press({"u"});
    CHECK(replayed == "torch:x=1");
    CHECK(screen.shell.state().main == std::vector<std::string>{"side-by-side"});
    CHECK(screen.shell.selection().compared_first == 0U);
    CHECK(screen.shell.selection().compared_second == 1U);
    screen.press({"r", "u"});  // the other run has no such finding
    CHECK(screen.shell.state().message.find("No finding") != std::string::npos);
}

TEST_CASE("a block that is clicked in either map is that run's", "[viz][shell][play]") {
    ScreenOf<SampleSession> screen(2U);
    REQUIRE(screen.shell.show("side-by-side"));
    screen.frames(5);
    REQUIRE(screen.until([&] { return !screen.shell.busy(); }));
    Box right = screen.layout().first;
    right.left += right.width() * 0.55F;
    right.top += 80;
    const auto block =
        screen.sweep(right, 12, [&] { return screen.shell.selection().hot_block.has_value(); });
    REQUIRE(block);
    screen.click(*block);
    CHECK(screen.shell.selection().block.has_value());
    CHECK(screen.shell.selection().run == 1);
}

}  // namespace tidemark::viz
