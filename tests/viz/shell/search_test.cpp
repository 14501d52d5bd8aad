// The search under scripted input: typed words, steps from hit to hit, the way back.
#include <chrono>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "tests/viz/shell/screen.h"
#include "viz/shell/actions.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

// A hundred blocks a microsecond apart; every tenth is a gradient, of twice the size.
struct HundredBlocks {
    Session session;

    HundredBlocks() {
        SmallHistory history;
        history.segment(0x100000, 200_MiB);
        for (std::uint64_t i = 0; i < 100; ++i)
            history.at(static_cast<Nanoseconds>(1000 * (i + 1)))
                .allocate(i, i % 10 == 0 ? 2_MiB : 1_MiB,
                          {.address = 0x100000 + i * 2_MiB,
                           .tag = i % 10 == 0 ? "grad" : "weights",
                           .stack = {"conv2d", "main"}});
        ViewedRun run;
        run.label = run.trace_name = "run.tmk";
        run.history = history.build();
        run.state.phase = LoadState::Phase::ready;
        session.runs.push_back(std::move(run));
    }

    Position born(BlockIndex block) const {
        const History& history = *session.runs[0].history;
        return history.position(AxisUnit::time, history.block(block).born);
    }
};

// Frames until it is so, or for ever so long: what is waited for is done by other threads.
template <class Condition>
void until(Screen& screen, Condition condition) {
    screen.frames();
    for (int i = 0; i < 20'000 && !condition(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        screen.frames();
    }
}

// Frames until the search has ended.
void await(Screen& screen) {
    until(screen,
          [&screen] { return screen.shell.state().found.find("searching") == std::string::npos; });
    screen.frames(2);
}

void find(Screen& screen, std::string_view text) {
    screen.press({"f"});
    screen.type(text);
    await(screen);
}

}  // namespace

TEST_CASE("what is typed is found, and how much of it is told", "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    CHECK(screen.shell.state().found.empty());
    for (const std::string_view key : {"f", "Ctrl-F", "/"}) {
        screen.press({key});
        CHECK(screen.io().WantTextInput);
        screen.type("grad");
        await(screen);
        CHECK(screen.shell.state().found == "10 of 100 blocks, 10 %");
        screen.press({"Esc"});
        CHECK(screen.shell.state().found.empty());
        CHECK_FALSE(screen.io().WantTextInput);
    }
    find(screen, ">=2MiB stream=0");
    CHECK(screen.shell.selection().filter.least == 2_MiB);
    CHECK(screen.shell.selection().filter.stream == StreamId{0});
    CHECK(screen.shell.state().found == "10 of 100 blocks, 10 %");
    screen.press({"Esc"});
    CHECK(screen.shell.selection().filter == Filter{});
}

TEST_CASE("Enter steps from hit to hit: cursor and block go along, the window stays",
          "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    const Window all = screen.shell.camera().window();
    find(screen, "grad");
    for (const BlockIndex hit : {0U, 10U, 20U}) {
        screen.press({"Enter"});
        CHECK(screen.shell.selection().block == hit);
        CHECK(screen.shell.selection().cursor == screen.born(hit));
    }
    CHECK(screen.shell.state().found == "hit 3 of 10");
    CHECK_FALSE(screen.io().WantTextInput);  // keys move again after the first one
    screen.press({"Shift-Enter"});
    CHECK(screen.shell.selection().block == 10U);
    screen.press({"F3", "F3"});
    CHECK(screen.shell.selection().block == 30U);
    screen.press({"Shift-F3"});
    CHECK(screen.shell.selection().block == 20U);
    CHECK(screen.shell.camera().window() == all);
    CHECK(screen.shell.selection().filter.text == "grad");
}

TEST_CASE("Enter at once steps as soon as something is found", "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    screen.press({"f"});
    screen.type("grad");
    screen.press({"Enter"});
    until(screen, [&screen] { return screen.shell.selection().block.has_value(); });
    CHECK(screen.shell.selection().block == 0U);
    CHECK(screen.shell.state().message.find("hit 1 of 10") != std::string::npos);
}

TEST_CASE("steps go round the ends and say so; they can be taken back", "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    find(screen, "grad");
    screen.press({"Enter"});
    CHECK(screen.shell.state().message.find("again") == std::string::npos);
    screen.press({"Shift-Enter"});
    CHECK(screen.shell.selection().block == 90U);
    CHECK(screen.shell.state().message.find("continued from the last one") != std::string::npos);
    screen.press({"Enter"});
    CHECK(screen.shell.selection().block == 0U);
    CHECK(screen.shell.state().message.find("continued from the first one") != std::string::npos);
    screen.press({"Ctrl-Z"});
    CHECK(screen.shell.selection().block == 90U);
    CHECK(screen.shell.selection().cursor == screen.born(90));
    screen.press({"Alt-Right"});
    CHECK(screen.shell.selection().block == 0U);
}

TEST_CASE("what is outside of the window comes into it", "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    screen.shell.camera().show({0, 15'000});
    screen.shell.camera().show_addresses({0, 0.1});
    screen.frames(2);
    find(screen, "grad");
    screen.press({"Enter", "Enter", "Enter"});
    const Window window = screen.shell.camera().window();
    CHECK(window.begin <= screen.born(20));
    CHECK(window.end > screen.born(20));
    CHECK(window.length() == 15'000);
    until(screen, [&screen] { return !screen.shell.selection().reveal; });  // the map is there
    CHECK(screen.shell.camera().addresses().begin > 0.1);
    CHECK(screen.shell.camera().addresses().begin < 0.2);
    screen.press({"Ctrl-Z"});
    CHECK(screen.shell.camera().window() == Window{0, 15'000});
    CHECK(screen.shell.selection().block == 10U);
}

TEST_CASE("that there is nothing is said plainly", "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    screen.press({"F3"});
    CHECK(screen.shell.state().message.find("No search yet") != std::string::npos);
    CHECK(screen.io().WantTextInput);
    screen.type("gradd");
    await(screen);
    CHECK(screen.shell.state().found == "no match in any tag or call stack");
    screen.press({"Enter"});
    CHECK(screen.shell.state().message.find("No match") != std::string::npos);
    CHECK_FALSE(screen.shell.selection().cursor);
    screen.press({"Esc"});
    find(screen, ">1x");
    CHECK(screen.shell.state().found == "'>1x' is not a size");
    screen.press({"Esc"});
    CHECK(screen.shell.state().found.empty());

    // A run over tiers, or one that isn't there yet, has no blocks.
    screen.session.runs[0].history.reset();
    screen.session.runs[0].state.phase = LoadState::Phase::loading;
    screen.press({"F3"});
    CHECK(screen.shell.state().message.find("no blocks to find") != std::string::npos);
}

TEST_CASE("what the command line or a view searches for stands in the line",
          "[viz][shell][search]") {
    ScreenOf<HundredBlocks> screen;
    REQUIRE(screen.shell.find("grad >1MiB"));
    await(screen);
    screen.frames(2);
    CHECK(screen.shell.state().found == "10 of 100 blocks, 10 %");
    const auto wrong = screen.shell.find(">1x");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().code == ErrorCode::bad_option);
    CHECK(screen.shell.selection().filter.text == "grad");
    // Focused, its text is what is searched for: typing replaces it.
    screen.press({"f"});
    screen.type("w");
    await(screen);
    CHECK(screen.shell.selection().filter.text == "w");
    CHECK(screen.shell.state().found == "90 of 100 blocks, 90 %");
}

TEST_CASE("the key sheet tells of the search and its steps", "[viz][shell][search]") {
    CHECK(keys_text(info_of(Action::find)) == "F, /, Ctrl-F");
    CHECK(keys_text(info_of(Action::next_hit)) == "Enter, F3");
    CHECK(keys_text(info_of(Action::previous_hit)) == "Shift-Enter, Shift-F3");
}
