// What is there of what was asked for: in windows that are too small for everything, in panes that
// are smaller than a card, of runs that have no blocks.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/viz/shell/sample_session.h"
#include "viz/draw/canvas.h"

using namespace tidemark;
using namespace tidemark::viz;

TEST_CASE("what a small window takes from a part comes back with a large one", "[viz][shell]") {
    ScreenOf<SampleSession> screen;
    REQUIRE(screen.shell.show("blocks"));
    REQUIRE(screen.until([&] { return block_in_row(screen, 1).has_value(); }));
    const auto before = block_in_row(screen, 1);
    for (const ImVec2 size : {ImVec2{1600, 640}, ImVec2{700, 900}, ImVec2{1600, 900}}) {
        screen.io().DisplaySize = size;
        screen.frames(3);
    }
    CHECK(block_in_row(screen, 1) == before);
}

TEST_CASE("a table that is asked for is there before a second view", "[viz][shell]") {
    SampleSession opened;
    Screen screen(opened.session);
    screen.io().DisplaySize = {900, 600};
    screen.frames(3);
    REQUIRE(screen.shell.state().main.size() == 2);
    REQUIRE(screen.shell.show("findings"));
    screen.frames(2);
    CHECK(screen.shell.state().main == std::vector<std::string>{"timeline"});
    CHECK(screen.shell.state().table == "findings");
    // What is asked for after it has the room.
    REQUIRE(screen.shell.show("timeline+address-map"));
    screen.frames(2);
    CHECK(screen.shell.state().main.size() == 2);
    screen.io().DisplaySize = {1600, 900};
    screen.frames(2);
    CHECK(screen.shell.state().main.size() == 2);
}

TEST_CASE("the card under the mouse lies over everything, whole", "[viz][shell]") {
    ScreenOf<SampleSession> screen;
    screen.io().DisplaySize = {1000, 420};
    REQUIRE(screen.shell.show("address-map"));
    screen.frames(3);
    const auto card = [&]() -> const ImDrawList& { return *ImGui::GetForegroundDrawList(); };
    const Box area{80, 150, 800, 400};
    REQUIRE(screen.until([&] {
        return screen
            .sweep(area, 24, [&] { return screen.shell.selection().hot_block.has_value(); })
            .has_value();
    }));
    REQUIRE(card().VtxBuffer.Size > 0);
    float top = 1e9F;
    float bottom = 0;
    for (const ImDrawVert& corner : card().VtxBuffer) {
        top = std::min(top, corner.pos.y);
        bottom = std::max(bottom, corner.pos.y);
    }
    CHECK(top >= 0);
    CHECK(bottom <= 420);
}

TEST_CASE(
    "a run over tiers has a peak to go to, and a table that is asked for says why it is empty",
    "[viz][shell]") {
    Session session;
    TierRun run;
    run.makespan = 1000;
    run.spaces = {{{.tier = Tier::gpu}, 100, 80}, {{.tier = Tier::host}, 100, 90}};
    run.levels = {{100, 10, 0, 0}, {200, 90, 0, 1}, {300, 80, 0, 0}, {400, 20, 0, 0}};
    ViewedRun viewed;
    viewed.label = "over tiers";
    viewed.tiers = std::make_shared<TierRun>(std::move(run));
    viewed.state.phase = LoadState::Phase::ready;
    session.runs.push_back(std::move(viewed));
    Screen screen(session);
    REQUIRE(screen.shell.go("peak"));
    CHECK(screen.shell.selection().cursor == Position{300});
    CHECK_FALSE(screen.shell.go("oom"));
    CHECK(screen.shell.state().table.empty());
    REQUIRE(screen.shell.show("findings"));
    screen.frames(2);
    CHECK(screen.shell.state().table == "findings");
}
