// Findings in the window: those of the run that is shown, and asking for more.
#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "tests/viz/shell/screen.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

// Two runs of ten blocks, with a finding each, at other events.
struct TwoRuns {
    Session session;

    TwoRuns() {
        for (EventIndex event : {3U, 7U}) {
            SmallHistory history;
            for (std::uint64_t i = 0; i < 10; ++i)
                history.at(static_cast<Nanoseconds>(1000 * (i + 1))).allocate(i, 1024);
            ViewedRun run;
            run.label = run.trace_name = "run.tmk";
            run.history = history.build();
            run.state.phase = run.findings_state.phase = LoadState::Phase::ready;
            run.findings.push_back({Finding::Weight::warning, "look", "why", event, kNoBlock});
            session.runs.push_back(std::move(run));
        }
    }

    Position at(EventIndex event) const {
        return session.runs[0].history->position(AxisUnit::time, event);
    }
};

}  // namespace

TEST_CASE("N goes to the findings of the run that is shown", "[viz][shell][findings]") {
    ScreenOf<TwoRuns> screen;
    screen.press({"n"});
    CHECK(screen.shell.selection().cursor == screen.at(3));
    screen.press({"n"});
    CHECK(screen.shell.selection().cursor == screen.at(3));  // there is no other
    screen.press({"r", "n"});
    CHECK(screen.shell.selection().cursor == screen.at(7));
}

TEST_CASE("advise is asked by a button where it was not asked", "[viz][shell][findings]") {
    TwoRuns opened;
    int requests = 0;
    ShellHost host;
    host.advise = [&](std::size_t) { ++requests; };
    Screen screen(opened.session, std::move(host));
    REQUIRE(screen.shell.show("findings"));
    const auto press_all = [&] {
        for (float y = 800; y < 885 && requests == 0; y += 6)
            for (float x = 590; x < 670 && requests == 0; x += 16)
                screen.click(x, y);
    };
    press_all();
    CHECK(requests == 0);
    opened.session.runs[0].unadvised_events = 30'000'000;
    press_all();
    CHECK(requests == 1);
    screen.frames(3);
    CHECK(requests == 1);
}

TEST_CASE("a finding that is clicked in the overview is the one that the table tells",
          "[viz][shell][findings]") {
    TwoRuns opened;
    opened.session.runs.pop_back();
    opened.session.runs[0].findings.push_back(
        {Finding::Weight::note, "the second", "why", 5, kNoBlock});
    Screen screen(opened.session);
    REQUIRE(screen.shell.show("overview"));
    screen.frames(3);
    const auto is_shown = [&] {
        return screen.shell.state().table == "findings" &&
               screen.shell.selection().cursor == opened.at(5);
    };
    // The first finding that is clicked brings the table, and the others lie higher then.
    for (int pass = 0; pass < 2 && !is_shown(); ++pass) {
        const Box all = screen.layout().first;
        const float right = all.left + all.width() * 0.62F;
        for (float y = all.top; y < all.bottom && !is_shown(); y += 4)
            screen.click(right, y);
    }
    CHECK(screen.shell.selection().cursor == opened.at(5));
    CHECK(screen.shell.selection().finding == 1);
}
