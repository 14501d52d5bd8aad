// The shell under scripted input: what keys, wheel and mouse do to what is shown.
#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "replay/timeline/fullest_event.h"
#include "tests/support/small_history.h"
#include "tests/viz/shell/screen.h"
#include "viz/model/navigation/navigation.h"
#include "viz/shell/actions.h"
#include "viz/views/view.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

// A thousand events a microsecond apart, the most allocated in their middle.
std::shared_ptr<const History> hill() {
    SmallHistory history;
    history.segment(0x100000, 1000_MiB);
    Nanoseconds time = 0;
    for (std::uint64_t i = 0; i < 500; ++i)
        history.at(time += 1000)
            .allocate(i, 1_MiB, {.address = 0x100000 + i * 1_MiB, .tag = "hill"});
    for (std::uint64_t i = 500; i > 0; --i)
        history.at(time += 1000).free(i - 1);
    return history.build();
}

struct Hills {
    Session session;

    explicit Hills(std::size_t runs = 1) {
        for (std::size_t i = 0; i < runs; ++i) {
            ViewedRun run;
            run.label = "run " + std::to_string(i);
            run.trace_name = "hill.tmk";
            run.history = hill();
            run.state.phase = LoadState::Phase::ready;
            session.runs.push_back(std::move(run));
        }
    }
};

// Somewhere in the middle of the first main view.
const ImVec2 kPlot{600, 260};

std::vector<std::string> main_views() {
    std::vector<std::string> names;
    for (const ViewInfo& info : all_views()) {
        if (info.pane == Pane::main)
            names.emplace_back(info.name);
    }
    return names;
}

}  // namespace

TEST_CASE("with nothing open the window says what to do, and attaches programs", "[viz][shell]") {
    Session session;
    std::int64_t attached = 0;
    ShellHost host;
    host.programs = [] { return std::vector<AttachableProgram>{{"trainer", 77, "1 M events/s"}}; };
    host.attach = [&](const AttachableProgram& program) { attached = program.process; };
    Screen screen(session, std::move(host));
    CHECK(screen.shell.state().page == "empty");
    for (float y = 200; y < 800 && attached == 0; y += 8)
        screen.click(540, y);
    CHECK(attached == 77);
    screen.press({"w", "g", "Left", "n", "m", "x", "Ctrl-C", "Home", "z", "1", "e", "Tab", "r"});
    CHECK(screen.shell.state().page == "empty");
}

TEST_CASE("loading can be cancelled; an error stands where the views would", "[viz][shell]") {
    Session session;
    session.runs.resize(2);
    session.runs[0].label = session.runs[0].trace_name = "one.tmk";
    session.runs[0].state = {LoadState::Phase::loading, 0.4, "reading one.tmk", {}};
    session.runs[1].label = session.runs[1].trace_name = "two.tmk";
    int cancelled = 0;
    ShellHost host;
    host.cancel_loading = [&] { ++cancelled; };
    Screen screen(session, std::move(host));
    CHECK(screen.shell.state().page == "loading");
    for (float y = 150; y < 700 && cancelled == 0; y += 8)
        screen.click(500, y);
    CHECK(cancelled == 1);

    session.runs[0].state = {LoadState::Phase::failed,
                             0,
                             {},
                             {ErrorCode::bad_input, "ends in the middle", "one.tmk:0x40", "send"}};
    screen.frames(2);
    CHECK(screen.shell.state().page == "error");
    screen.press({"r"});
    CHECK(screen.shell.selection().run == 1);
    CHECK(screen.shell.state().page == "loading");
}

TEST_CASE("of a recording the overview is seen first, of a living program what it does",
          "[viz][shell]") {
    Hills recorded;
    Screen screen(recorded.session, {}, 1, FirstViews::of_the_shell);
    CHECK(screen.shell.state().main == std::vector<std::string>{"overview"});
    Hills living;
    living.session.runs[0].live.emplace();
    Screen other(living.session, {}, 1, FirstViews::of_the_shell);
    CHECK(other.shell.state().main == std::vector<std::string>{"timeline", "address-map"});
}

TEST_CASE("a history is shown as a timeline over an address map", "[viz][shell]") {
    ScreenOf<Hills> screen;
    CHECK(screen.shell.state().page == "views");
    CHECK(screen.shell.state().main == std::vector<std::string>{"timeline", "address-map"});
    CHECK(screen.shell.camera().window() == Window{0, 1'000'001});
    screen.press({"e"});
    CHECK(screen.shell.state().main == std::vector<std::string>{"timeline"});
    screen.press({"e"});
    CHECK(screen.shell.state().main.size() == 2);
}

TEST_CASE("digits and tabs bring up each view, beneath with Shift or Ctrl", "[viz][shell]") {
    ScreenOf<Hills> screen;
    const std::vector<std::string> views = main_views();
    for (std::size_t i = 0; i < views.size() && i < 9; ++i) {
        screen.press({std::to_string(i + 1)});
        CHECK(screen.shell.state().main == std::vector<std::string>{views[i]});
    }
    screen.press({"1", "Shift-2"});
    CHECK(screen.shell.state().main == std::vector<std::string>{views[0], views[1]});

    std::set<std::string> met;
    for (float x = 10; x < 1000; x += 12) {
        screen.click(x, 38);
        met.insert(screen.shell.state().main.front());
    }
    // The last one is offered where there are ranks.
    CHECK(views.back() == "ranks");
    CHECK(met == std::set<std::string>(views.begin(), views.end() - 1));
}

TEST_CASE("Tab walks through the tables and back", "[viz][shell]") {
    ScreenOf<Hills> screen;
    const std::string first = screen.shell.state().table;
    std::set<std::string> met{first};
    for (int i = 0; i < 20; ++i) {
        screen.press({"Tab"});
        if (!met.insert(screen.shell.state().table).second)
            break;
    }
    CHECK(screen.shell.state().table == first);
    CHECK(met.size() >= 3);
    screen.press({"Tab", "Shift-Tab"});
    CHECK(screen.shell.state().table == first);
    screen.press({"b"});
    CHECK(screen.shell.state().table.empty());
    screen.press({"b"});
    CHECK(screen.shell.state().table == first);
}

TEST_CASE("the wheel zooms about the pointer, 60 notches in and out again", "[viz][shell]") {
    ScreenOf<Hills> screen;
    screen.press({"e"});
    screen.move(kPlot.x, kPlot.y);
    REQUIRE(screen.shell.selection().hover);
    const Position about = *screen.shell.selection().hover;
    for (int i = 0; i < 15; ++i)
        screen.wheel(1);
    const Window near = screen.shell.camera().window();
    CHECK(near.length() < 100'000);
    CHECK(near.begin < about);
    CHECK(near.end > about);
    // A pixel is about so many positions here.
    const Position pixel = near.length() / 800 + 1;
    CHECK(std::abs(*screen.shell.selection().hover - about) <= pixel);
    for (int i = 0; i < 60; ++i)
        screen.wheel(-1);
    CHECK(screen.shell.camera().window() == Window{0, screen.shell.camera().extent()});
}

TEST_CASE("dragging pans, Shift-dragging measures, a click puts the cursor", "[viz][shell]") {
    ScreenOf<Hills> screen;
    screen.press({"e"});
    screen.shell.camera().show({400'000, 600'000});
    screen.frames(2);
    screen.drag(kPlot, {kPlot.x - 200, kPlot.y});
    const Window panned = screen.shell.camera().window();
    CHECK(panned.length() == 200'000);
    CHECK(panned.begin > 425'000);
    CHECK_FALSE(screen.shell.selection().cursor);

    screen.drag(kPlot, {kPlot.x + 100, kPlot.y}, true);
    REQUIRE(screen.shell.selection().measure);
    CHECK(screen.shell.camera().window() == panned);
    CHECK(screen.shell.selection().measure->length() > 10'000);
    CHECK(screen.shell.selection().measure->length() < 40'000);

    screen.click(kPlot);
    REQUIRE(screen.shell.selection().cursor);
    CHECK(screen.shell.selection().cursor == screen.shell.selection().hover);

    screen.press({"Esc", "Esc", "Esc"});
    CHECK_FALSE(screen.shell.selection().measure);
    CHECK_FALSE(screen.shell.selection().cursor);
    screen.move(1590, 895);
    CHECK_FALSE(screen.shell.selection().hover);
}

TEST_CASE("keys move the camera and it finds its way back", "[viz][shell]") {
    ScreenOf<Hills> screen;
    const Window all = screen.shell.camera().window();
    screen.press({"w", "w"});
    const Window zoomed = screen.shell.camera().window();
    CHECK(zoomed.length() < all.length());
    screen.frames(40);  // it comes to rest
    screen.press({"d"});
    CHECK(screen.shell.camera().window().begin > zoomed.begin);
    screen.frames(40);
    screen.press({"Alt-Left"});
    CHECK(screen.shell.camera().window() == zoomed);
    screen.press({"Ctrl-Z"});
    CHECK(screen.shell.camera().window() == all);
    screen.press({"Alt-Right"});
    CHECK(screen.shell.camera().window() == zoomed);
    screen.press({"Home"});
    CHECK(screen.shell.camera().window() == all);
    screen.press({"w", "End"});
    CHECK(screen.shell.camera().window().end == all.end);
    CHECK(screen.shell.camera().follows());
}

TEST_CASE("held keys move for as long as they are held", "[viz][shell]") {
    Hills opened;
    Offscreen offscreen({1600, 900, 1, FontChoice::built_in});
    Shell shell(opened.session);
    ShellInput held;
    held.held = {key('w')};
    Position before = 0;
    for (int i = 0; i < 12; ++i) {
        offscreen.begin(shell.theme());
        shell.draw(held);
        offscreen.skip();
        if (i == 2)
            before = shell.camera().window().length();
    }
    CHECK(shell.camera().window().length() < before);
    CHECK(shell.busy());
}

TEST_CASE("the cursor goes to the peak, steps through events, and changes its axis",
          "[viz][shell]") {
    ScreenOf<Hills> screen;
    const History& history = *screen.session.runs[0].history;
    const EventIndex peak = fullest_event(history);
    screen.press({"g"});
    CHECK(screen.shell.selection().cursor == history.position(AxisUnit::time, peak));
    screen.press({"Right"});
    CHECK(screen.shell.selection().cursor == history.position(AxisUnit::time, peak + 1));
    screen.press({"Left", "Left"});
    CHECK(screen.shell.selection().cursor == history.position(AxisUnit::time, peak - 1));
    screen.press({"x"});
    CHECK(screen.shell.camera().unit() == AxisUnit::events);
    CHECK(screen.shell.selection().cursor == history.position(AxisUnit::events, peak - 1));
    screen.press({"x"});
    CHECK(screen.shell.camera().unit() == AxisUnit::time);
}

TEST_CASE("the prompt goes to places and says what isn't one", "[viz][shell]") {
    ScreenOf<Hills> screen;
    screen.press({"Shift-G"});
    CHECK(screen.shell.state().popup == "go");
    screen.type("no where");
    screen.press({"Enter"});
    CHECK(screen.shell.state().popup == "go");
    screen.press({"Esc"});
    CHECK(screen.shell.state().popup.empty());

    screen.press({"Ctrl-G"});
    screen.type("#250");
    screen.press({"Enter"});
    CHECK(screen.shell.state().popup.empty());
    const History& history = *screen.session.runs[0].history;
    CHECK(screen.shell.selection().cursor == history.position(AxisUnit::time, 250));
    CHECK(screen.shell.camera().window() == Window{0, 1'000'001});  // letters moved nothing
}

TEST_CASE("F finds: what is typed filters, letters do nothing else, Esc clears", "[viz][shell]") {
    ScreenOf<Hills> screen;
    const bool dark = screen.shell.state().dark;
    screen.press({"f"});
    screen.type("hit");
    CHECK(screen.shell.selection().filter.text == "hit");
    screen.press({"t"});
    CHECK(screen.shell.state().dark == dark);
    screen.press({"Esc"});
    CHECK(screen.shell.selection().filter.text.empty());
    screen.press({"t"});
    CHECK(screen.shell.state().dark != dark);
}

TEST_CASE("copying gives the state as text, and the place as a line that leads back",
          "[viz][shell]") {
    ScreenOf<Hills> screen;
    screen.press({"g", "Ctrl-C"});
    CHECK(screen.clipboard.find("allocated") != std::string::npos);
    CHECK(screen.clipboard.find("500 MiB") != std::string::npos);
    screen.press({"w", "w", "y"});
    const std::string location = screen.clipboard;
    const Window window = screen.shell.camera().window();

    Hills again;
    Screen other(again.session);
    REQUIRE(other.shell.go(location));
    CHECK(other.shell.camera().window() == window);
    CHECK(other.shell.selection().cursor == screen.shell.selection().cursor);
}

TEST_CASE("edges can be dragged, and parts keep a size", "[viz][shell]") {
    ScreenOf<Hills> screen;
    const std::string side = screen.shell.state().side;
    CHECK_FALSE(side.empty());
    screen.press({"e"});
    screen.move(1000, 300);
    REQUIRE(screen.shell.selection().hover);
    // The side column's edge: pulled to the left, it covers what was the plot.
    screen.drag({1600 - 330 - 3, 500}, {900, 500});
    screen.move(1000, 300);
    CHECK_FALSE(screen.shell.selection().hover);
    screen.press({"i"});
    screen.move(1000, 300);
    CHECK(screen.shell.selection().hover);
}

TEST_CASE("a place that was asked for before it is known is gone to when it is", "[viz][shell]") {
    Session session;
    session.runs.resize(1);
    Screen screen(session);
    REQUIRE(screen.shell.go("peak;view=timeline"));
    REQUIRE_FALSE(screen.shell.go("peek"));
    screen.frames(2);
    session.runs[0].history = hill();
    session.runs[0].state.phase = LoadState::Phase::ready;
    screen.frames(2);
    const History& history = *session.runs[0].history;
    CHECK(screen.shell.selection().cursor ==
          history.position(AxisUnit::time, fullest_event(history)));
    CHECK(screen.shell.state().main == std::vector<std::string>{"timeline"});
    const auto missing = screen.shell.show("timelime");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().hint == "did you mean timeline?");
}

TEST_CASE("key sheet and menu come and go, and the menu does what keys do", "[viz][shell]") {
    Hills opened(2);
    int saved = 0;
    ShellHost host;
    host.save_image = [&] { ++saved; };
    Screen screen(opened.session, std::move(host));
    screen.press({"?"});
    CHECK(screen.shell.state().popup == "keys");
    screen.press({"?"});
    CHECK(screen.shell.state().popup.empty());
    screen.press({"F1", "Esc"});
    CHECK(screen.shell.state().popup.empty());
    screen.press({"Ctrl-S"});
    CHECK(saved == 1);
    // Each place in the menu once: everything in it can be done, and closes it.
    int chosen = 0;
    for (float y = 40; y < 300; y += 18) {
        for (float x = 40; x < 1000; x += 60) {
            screen.click(20, 12);
            if (screen.shell.state().popup != "menu")
                screen.press({"Esc"});
            if (screen.shell.state().popup != "menu")
                screen.click(20, 12);
            REQUIRE(screen.shell.state().popup == "menu");
            screen.click(x, y);
            chosen += screen.shell.state().popup != "menu" ? 1 : 0;
            screen.press({"Esc"});
        }
    }
    CHECK(chosen > 20);
    CHECK(saved > 1);
}

TEST_CASE("every view can be drawn for every kind of run", "[viz][shell]") {
    Hills opened;
    ViewedRun tiers;
    tiers.label = "over tiers";
    tiers.tiers = std::make_shared<TierRun>();
    tiers.state.phase = LoadState::Phase::ready;
    opened.session.runs.push_back(std::move(tiers));
    ViewedRun empty;
    empty.label = "nothing in it";
    empty.history = SmallHistory().build();
    empty.state.phase = LoadState::Phase::ready;
    opened.session.runs.push_back(std::move(empty));
    Screen screen(opened.session);
    for (std::size_t run = 0; run < opened.session.runs.size(); ++run) {
        for (const ViewInfo& info : all_views()) {
            INFO(run << " " << info.name);
            REQUIRE(screen.shell.show(info.name));
            screen.frames(3);
            screen.move(500, 400);
            screen.move(500, 800);
            CHECK(screen.shell.state().page == "views");
        }
        screen.press({"w", "g", "o", "Left", "Right", "n", "p", "m", "z", "x", "c", "Ctrl-C", "y"});
        screen.press({"r"});
    }
}
