// The prompt, and the way back: each place that was gone to is a step of its own, also where only
// the cursor moved.
#include <catch2/catch.hpp>

#include "replay/timeline/fullest_event.h"
#include "tests/viz/shell/sample_session.h"

using namespace tidemark;
using namespace tidemark::viz;

TEST_CASE("in a view without a time axis one undo takes back one step", "[viz][shell]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("stacks"));
    const Window all = screen.shell.camera().window();
    REQUIRE(screen.shell.go("#5"));
    screen.frames(2);
    REQUIRE(screen.shell.go("#30"));
    screen.press({"g"});
    CHECK(screen.shell.selection().cursor == screen.at(fullest_event(screen.history())));
    CHECK(screen.shell.camera().window() == all);
    screen.press({"Ctrl-Z"});
    CHECK(screen.shell.selection().cursor == screen.at(30));
    screen.press({"Alt-Left"});
    CHECK(screen.shell.selection().cursor == screen.at(5));
    screen.press({"Ctrl-Y", "Ctrl-Y"});
    CHECK(screen.shell.selection().cursor == screen.at(fullest_event(screen.history())));
}

TEST_CASE("Enter with the last letters of a frame goes where all of them say", "[viz][shell]") {
    ScreenOf<SampleSession> screen;
    screen.press({"Shift-G"});
    screen.type("4");
    for (const char letter : std::string_view("0us"))
        screen.io().AddInputCharacter(static_cast<unsigned char>(letter));
    screen.press({"Enter"});
    CHECK(screen.shell.state().popup.empty());
    CHECK(screen.shell.selection().cursor == Position{40'000});
}
