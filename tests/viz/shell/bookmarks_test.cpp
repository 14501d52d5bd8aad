// Bookmarks by keys and mouse: set, named, edited, removed, brought back, gone to, kept.
#include "viz/model/navigation/bookmarks.h"

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/viz/shell/sample_session.h"
#include "traces/notes/notes_file.h"

namespace tidemark::viz {
namespace {

using support::TestFolder;

// The sample as if it were from a file in `folder`.
struct FiledSession : SampleSession {
    explicit FiledSession(const TestFolder& folder) {
        session.runs[0].path = folder.file("run.tmk");
    }
};

ShellHost keeping() {
    ShellHost host;
    host.keeps_bookmarks = true;
    return host;
}

void set_bookmark(Screen& screen, Position at, std::string_view name) {
    screen.shell.selection().cursor = at;
    screen.press({"m"});
    CHECK(screen.shell.state().popup == "bookmark");
    screen.type(name);
    screen.press({"Enter"});
    CHECK(screen.shell.state().popup.empty());
}

bool is_written(Screen& screen) {
    return screen.until([&] { return !screen.shell.selection().bookmarks->writing(); });
}

}  // namespace

TEST_CASE("a bookmark is set, named, and there again when the trace is opened again",
          "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    const Position at = sample.at(25);
    {
        Screen screen(sample.session, keeping());
        set_bookmark(screen, at, "before it grows");
        REQUIRE(is_written(screen));
        CHECK(has(screen.shell.state().message, "Kept in run.tmk.notes.json"));
    }
    const auto notes = read_notes(folder.file("run.tmk.notes.json"));
    REQUIRE(notes);
    REQUIRE(notes->size() == 1);
    CHECK(notes->front().name == "before it grows");
    CHECK(notes->front().begin == at);

    Screen screen(sample.session, keeping());
    REQUIRE(screen.shell.selection().placed.size() == 1);
    CHECK(screen.shell.selection().placed[0].begin == at);
    REQUIRE(screen.shell.go("bookmark:before it grows"));
    CHECK(screen.shell.selection().cursor == at);
    const auto gone = screen.shell.go("bookmark:before it grow");
    REQUIRE_FALSE(gone);
    CHECK(gone.error().hint == "did you mean 'before it grows'?");
}

TEST_CASE("the prompt goes to a bookmark, and N and P from one to the next", "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    Screen screen(sample.session, keeping());
    set_bookmark(screen, sample.at(10), "first; 100 %");
    set_bookmark(screen, sample.at(40), "second");
    screen.press({"p"});
    CHECK(screen.shell.selection().cursor == sample.at(10));
    screen.press({"n"});
    CHECK(screen.shell.selection().cursor == sample.at(40));
    screen.press({"Shift-G"});
    screen.type("bookmark:first; 100 %");
    screen.press({"Enter"});
    CHECK(screen.shell.selection().cursor == sample.at(10));
    REQUIRE(screen.shell.go("bookmark=first%3b 100 %25;view=overview"));
    CHECK(screen.shell.state().main == std::vector<std::string>{"overview"});
}

TEST_CASE("a bookmark is edited, removed and brought back", "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    Screen screen(sample.session, keeping());
    const auto& bookmarks = *screen.shell.selection().bookmarks;
    set_bookmark(screen, sample.at(25), "here");
    screen.press({"m", "Tab"});
    screen.type("it grows");
    screen.press({"Ctrl-Enter"});
    REQUIRE(bookmarks.notes().size() == 1);
    CHECK(bookmarks.notes()[0].name == "here");
    CHECK(bookmarks.notes()[0].text == "it grows");
    screen.press({"m", "Esc"});
    CHECK(screen.shell.state().popup.empty());
    screen.press({"Del"});
    CHECK(bookmarks.notes().empty());
    screen.press({"Ctrl-Shift-Z"});
    REQUIRE(bookmarks.notes().size() == 1);
    CHECK(bookmarks.notes()[0].text == "it grows");
    screen.press({"Ctrl-Shift-Z"});
    CHECK(bookmarks.notes()[0].text.empty());
    screen.press({"Ctrl-Shift-Z"});
    CHECK(bookmarks.notes().empty());
    REQUIRE(is_written(screen));
    const auto notes = read_notes(folder.file("run.tmk.notes.json"));
    REQUIRE(notes);
    CHECK(notes->front().removed);
}

TEST_CASE("the measured stretch and the selected block go into a bookmark, and back",
          "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    Screen screen(sample.session, keeping());
    Selection& selection = screen.shell.selection();
    const Window stretch{sample.at(10), sample.at(20)};
    selection.measure = stretch;
    selection.block = sample.first;
    screen.press({"m"});
    screen.type("step");
    screen.press({"Enter"});
    selection.measure.reset();
    selection.block.reset();
    REQUIRE(screen.shell.go("bookmark:step"));
    CHECK(selection.measure == stretch);
    CHECK(selection.block == sample.first);
    CHECK(selection.cursor == stretch.begin);
}

TEST_CASE("a click in the table goes to the bookmark, Del there removes it", "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    Screen screen(sample.session, keeping());
    set_bookmark(screen, sample.at(10), "first");
    set_bookmark(screen, sample.at(40), "second");
    REQUIRE(screen.shell.show("bookmarks"));
    screen.frames(3);
    Selection& selection = screen.shell.selection();
    const auto& table = screen.layout().table;
    const auto found = screen.sweep({table.left + 30, table.top, table.left + 31, table.bottom}, 4,
                                    [&] { return has(selection.described, "first"); });
    REQUIRE(found);
    screen.click(*found);
    CHECK(selection.cursor == sample.at(10));
    screen.double_click(found->x, found->y);
    CHECK(screen.shell.state().popup == "bookmark");
    screen.press({"Esc"});
    screen.move(found->x, found->y);
    screen.press({"Del"});
    REQUIRE(selection.bookmarks->notes().size() == 1);
    CHECK(selection.bookmarks->notes()[0].name == "second");
}

TEST_CASE("bookmarks that can't be kept are there for the session, which is said",
          "[viz][bookmarks]") {
    const TestFolder folder;
    folder.write("run.tmk.notes.json", R"({"format": "tidemark-notes", "version": 9})");
    FiledSession sample(folder);
    Screen screen(sample.session, keeping());
    CHECK(has(screen.shell.state().message, "is of version 9"));
    set_bookmark(screen, sample.at(10), "mine");
    CHECK(screen.shell.selection().placed.size() == 1);
    REQUIRE(is_written(screen));
    CHECK(folder.read("run.tmk.notes.json") == R"({"format": "tidemark-notes", "version": 9})");

    // A viewer that may not write, and a trace that is no file.
    Screen watching(sample.session);
    set_bookmark(watching, sample.at(20), "theirs");
    CHECK(watching.shell.selection().placed.size() == 1);
    SampleSession unfiled;
    Screen nowhere(unfiled.session, keeping());
    set_bookmark(nowhere, unfiled.at(20), "lost");
    CHECK(has(nowhere.shell.state().message, "for this session only"));
    CHECK(folder.entries() == 1);
}

TEST_CASE("two viewers of one trace keep each other's bookmarks", "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    {
        Screen first(sample.session, keeping());
        Bookmarks second(folder.file("run.tmk"), true);
        set_bookmark(first, sample.at(10), "first");
        REQUIRE(is_written(first));
        second.put({.id = new_note_id(), .name = "second", .begin = 7});
        second.finish();
        CHECK(second.notes().size() == 2);
        set_bookmark(first, sample.at(30), "third");
        REQUIRE(is_written(first));
    }
    CHECK(read_notes(folder.file("run.tmk.notes.json"))->size() == 3);
}

TEST_CASE("a bookmark of events stands at the same event on the axis of time", "[viz][bookmarks]") {
    const TestFolder folder;
    FiledSession sample(folder);
    Screen screen(sample.session, keeping());
    screen.press({"x"});
    REQUIRE(screen.shell.camera().unit() == AxisUnit::events);
    set_bookmark(screen, 12 * kPositionsPerEvent, "event");
    screen.press({"x"});
    REQUIRE(screen.shell.selection().placed.size() == 1);
    CHECK(screen.shell.selection().placed[0].begin == sample.at(12));
}

TEST_CASE("a bookmark says so if it was made for another content of the trace",
          "[viz][bookmarks]") {
    ViewedRun run;
    run.run = std::make_unique<Run>();
    run.run->trace_hash = 7;
    CHECK_FALSE(is_of_another_trace({.trace_hash = 7}, run));
    CHECK_FALSE(is_of_another_trace({.trace_hash = 0}, run));
    CHECK(is_of_another_trace({.trace_hash = 8}, run));
}

}  // namespace tidemark::viz
