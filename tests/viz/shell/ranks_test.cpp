// What mouse and keys do in the view of ranks.
#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/shell/sample_session.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

// Three ranks: the second and third reserve 16 MiB more.
struct RankSession : SampleSession {
    RankSession() : SampleSession(3) {
        for (std::size_t i = 0; i < session.runs.size(); ++i) {
            session.runs[i].path = session.runs[i].trace_name =
                "run/rank" + std::to_string(i) + ".tmk";
            session.runs[i].label = "rank" + std::to_string(i) + ".tmk";
        }
    }
};

// Where something is described so, from the top down at the left of the table or of the tracks.
std::optional<ImVec2> find_described(Screen& screen, std::string_view text, float x) {
    const Box all = screen.layout().first;
    return screen.sweep({all.left + x, all.top + 40, all.left + x + 1, all.bottom - 40}, 5,
                        [&] { return screen.shell.selection().described.starts_with(text); });
}

}  // namespace

TEST_CASE("several ranks are shown first, one file is not", "[viz][shell][ranks]") {
    RankSession ranks;
    Screen screen(ranks.session, {}, 1, FirstViews::of_the_shell);
    screen.frames(3);
    CHECK(screen.shell.state().main == std::vector<std::string>{"ranks"});
    SampleSession same(2);  // one trace, twice
    Screen other(same.session, {}, 1, FirstViews::of_the_shell);
    other.frames(3);
    CHECK(other.shell.state().main == std::vector<std::string>{"overview"});
}

TEST_CASE("a first rank that can't be read doesn't hide the others", "[viz][shell][ranks]") {
    RankSession ranks;
    ViewedRun& first = ranks.session.runs.front();
    first.history.reset();
    first.state.phase = LoadState::Phase::failed;
    first.state.error = {ErrorCode::io, "is cut short", "rank0.tmk", {}};
    Screen screen(ranks.session, {}, 1, FirstViews::of_the_shell);
    screen.frames(3);
    CHECK(screen.shell.state().page == "views");
    CHECK(screen.shell.selection().run == 1);
    CHECK(find_described(screen, "rank 0\trank0.tmk: is cut short", 200));
}

TEST_CASE("a click on a rank shows it, in the table and in its track", "[viz][shell][ranks]") {
    RankSession ranks;
    Screen screen(ranks.session, {}, 1, FirstViews::of_the_shell);
    screen.frames(3);
    const Selection& selection = screen.shell.selection();
    const auto row = find_described(screen, "rank 1\t", 30);
    REQUIRE(row);
    screen.click(*row);
    CHECK(selection.run == 1);
    screen.frames(20);
    // Below the rows are the tracks: that of rank 0, which reserves least, is the last.
    const Box all = screen.layout().first;
    screen.move(all.left + 300, all.bottom - 60);
    CHECK(selection.described.starts_with("rank 0\t"));
    CHECK(selection.hover);
    screen.click(all.left + 300, all.bottom - 60);
    CHECK(selection.run == 0);
    CHECK(selection.cursor);
    screen.press({"r"});
    CHECK(selection.run == 1);
    CHECK(screen.shell.state().main == std::vector<std::string>{"ranks"});
}

TEST_CASE("a double click on a rank goes to its peak in the timeline", "[viz][shell][ranks]") {
    RankSession ranks;
    Screen screen(ranks.session, {}, 1, FirstViews::of_the_shell);
    screen.frames(3);
    const auto row = find_described(screen, "rank 1\t", 30);
    REQUIRE(row);
    screen.double_click(row->x, row->y);
    screen.frames(2);
    CHECK(screen.shell.selection().run == 1);
    CHECK(screen.shell.state().main == std::vector<std::string>{"timeline"});
    const ViewedRun& run = ranks.session.runs[1];
    CHECK(screen.shell.selection().cursor ==
          run.history->position(AxisUnit::time, run.peak.of(run.history)));
}

TEST_CASE("a click on a title sorts the ranks, and the table can be copied",
          "[viz][shell][ranks]") {
    RankSession ranks;
    Screen screen(ranks.session, {}, 1, FirstViews::of_the_shell);
    screen.frames(3);
    const auto row = find_described(screen, "rank 1\t", 30);
    REQUIRE(row);
    screen.press({"Ctrl-E"});
    CHECK(has(screen.clipboard, "rank,"));
    CHECK(has(screen.clipboard, "run/rank2.tmk"));
    // Who needs most stands first; the title above it sorts by number, then the other way round.
    const ImVec2 title{row->x + 20, row->y - row_height()};
    for (const char* const first : {"rank 0\t", "rank 2\t"}) {
        screen.click(title);
        screen.frames(2);
        screen.move(row->x, row->y);
        CHECK(screen.shell.selection().described.starts_with(first));
        screen.frames(20);
    }
}

TEST_CASE("the wheel over a track zooms the time of all tracks", "[viz][shell][ranks]") {
    RankSession ranks;
    Screen screen(ranks.session, {}, 1, FirstViews::of_the_shell);
    screen.frames(3);
    const Window before = screen.shell.camera().window();
    const Box all = screen.layout().first;
    screen.move(all.left + 300, all.bottom - 60);
    screen.wheel(3);
    screen.frames(3);
    CHECK(screen.shell.camera().window().length() < before.length());
}
