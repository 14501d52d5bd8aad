// Opening files in the window: chosen from a folder, typed, dropped; and those that can't be.
#include <chrono>
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/viz/shell/sample_session.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

namespace fs = std::filesystem;

constexpr const char* kRmmLog = "Thread,Time,Action,Pointer,Size,Stream\n";

using Paths = std::vector<std::string>;
using Requests = std::vector<Paths>;

// A window with a run, over a folder with recordings of different ages and other things.
struct Opened {
    support::TestFolder folder;
    SampleSession content;
    std::vector<Paths> requests;
    Result<void> answer;

    Opened() {
        add("older.csv", 200);
        add("newest.csv", 10);
        add("between.csv", 100);
        folder.write("readme", "not a recording");
        fs::create_directory(folder.file("ranks"));
        folder.write("ranks/rank0.csv", kRmmLog);
    }

    ShellHost host() {
        ShellHost host;
        host.open = [this](const Paths& paths) {
            requests.push_back(paths);
            if (answer) {
                ViewedRun run;
                run.label = run.trace_name = fs::path(paths.front()).filename().string();
                run.state = {LoadState::Phase::loading, 0.1, "reading", {}};
                content.session.runs.push_back(std::move(run));
            }
            return answer;
        };
        return host;
    }

    void add(const std::string& name, int minutes) const {
        fs::last_write_time(folder.write(name, kRmmLog),
                            fs::file_time_type::clock::now() - std::chrono::minutes(minutes));
    }

    // The chooser, in the folder, with all of it known.
    void choose_in(Screen& screen) const {
        screen.press({"Ctrl-O"});
        REQUIRE(screen.shell.state().popup == "open");
        screen.type(folder.path().string() + "/");
        screen.press({"Enter"});
        rest(screen);
    }

    // Until folders are read and nothing moves.
    static void rest(Screen& screen) {
        screen.io().ConfigInputTextCursorBlink = false;
        REQUIRE(screen.until([&] { return !screen.shell.busy(); }));
    }
};

void drop(Screen& screen, Paths paths) {
    ShellInput input;
    input.dropped = std::move(paths);
    screen.frame(input);
    screen.frames(2);
}

}  // namespace

TEST_CASE("Ctrl-O and Enter open the newest recording of a folder", "[viz][shell][open]") {
    Opened opened;
    Screen screen(opened.content.session, opened.host());
    opened.choose_in(screen);
    screen.press({"Enter"});
    CHECK(opened.requests == Requests{Paths{opened.folder.file("newest.csv")}});
    CHECK(screen.shell.state().popup.empty());
    CHECK(screen.shell.state().message == "Opening newest.csv; what is open stays");
}

TEST_CASE("letters find a file, arrows another one", "[viz][shell][open]") {
    Opened opened;
    Screen screen(opened.content.session, opened.host());
    opened.choose_in(screen);
    screen.type("OLD");
    screen.press({"Enter"});
    opened.choose_in(screen);
    screen.press({"Down", "Down", "Up", "Enter"});
    CHECK(opened.requests == Requests{Paths{opened.folder.file("older.csv")},
                                      Paths{opened.folder.file("between.csv")}});
}

TEST_CASE("folders are gone into, and up from by Backspace", "[viz][shell][open]") {
    Opened opened;
    Screen screen(opened.content.session, opened.host());
    opened.choose_in(screen);
    screen.type("ranks");
    screen.press({"Enter"});
    Opened::rest(screen);
    screen.press({"Enter"});
    CHECK(opened.requests.back() == Paths{opened.folder.file("ranks/rank0.csv")});
    screen.press({"Ctrl-O"});  // where it was left
    Opened::rest(screen);
    screen.press({"Backspace"});
    Opened::rest(screen);
    screen.press({"Enter"});
    CHECK(opened.requests.back() == Paths{opened.folder.file("newest.csv")});
}

TEST_CASE("a path that is typed in full is opened, one that isn't there is said to be none",
          "[viz][shell][open]") {
    Opened opened;
    Screen screen(opened.content.session, opened.host());
    screen.press({"Ctrl-O"});
    screen.type(opened.folder.file("readme"));
    screen.press({"Enter"});
    Opened::rest(screen);
    REQUIRE(opened.requests.size() == 1);
    CHECK(opened.requests.back() == Paths{opened.folder.file("readme")});
    screen.press({"Ctrl-O"});
    screen.type("generate:training");
    screen.press({"Enter"});
    Opened::rest(screen);
    CHECK(opened.requests.back() == Paths{"generate:training"});
    screen.press({"Ctrl-O"});
    screen.type(opened.folder.file("nothing"));
    Opened::rest(screen);
    screen.press({"Enter"});
    Opened::rest(screen);
    CHECK(opened.requests.size() == 2);
    CHECK(screen.shell.state().popup == "open");
    CHECK(has(screen.shell.state().problem, "there is no 'nothing' in "));
    screen.press({"Esc", "Ctrl-O"});
    screen.type(opened.folder.file("no/such/folder"));
    Opened::rest(screen);
    CHECK(has(screen.shell.state().problem, "there is no such folder; the nearest that exists"));
}

TEST_CASE("the mouse opens by a double click, and all of a folder by a button",
          "[viz][shell][open]") {
    Opened opened;
    Screen screen(opened.content.session, opened.host());
    opened.choose_in(screen);
    for (float y = 250; y < 700 && opened.requests.empty(); y += 8)
        screen.double_click(500, y);
    CHECK(opened.requests.size() == 1);
    opened.choose_in(screen);
    const std::string folder = opened.folder.path().string();
    for (float y = 640; y < 700 && screen.shell.state().popup == "open"; y += 8)
        screen.click(600, y);
    CHECK(opened.requests.back() == Paths{folder});
}

TEST_CASE("what is dropped is opened at once, and shown as soon as it has begun",
          "[viz][shell][open]") {
    Opened opened;
    Session& session = opened.content.session;
    Screen screen(session, opened.host());
    drop(screen, {"/a/run.tmk", "/b/c.pickle"});
    CHECK(opened.requests == Requests{Paths{"/a/run.tmk", "/b/c.pickle"}});
    CHECK(screen.shell.state().message == "Opening 2 files; what is open stays");
    CHECK(screen.shell.selection().run == 0);
    CHECK(screen.shell.state().page == "views");
    SampleSession other;
    session.runs[1].history = other.session.runs[0].history;
    screen.frames(2);
    CHECK(screen.shell.selection().run == 1);
    screen.press({"r"});
    screen.frames(3);
    CHECK(screen.shell.selection().run == 0);
}

TEST_CASE("what can't be opened says why, and what was open stays", "[viz][shell][open]") {
    Opened opened;
    Session& session = opened.content.session;
    Screen screen(session, opened.host());
    SECTION("a file that no reader knows") {
        drop(screen, {"/a/broken.bin"});
        session.runs[1].state = {LoadState::Phase::failed,
                                 0,
                                 {},
                                 {ErrorCode::bad_input, "is in no format", "/a/broken.bin", "see"}};
        screen.frames(2);
        CHECK(screen.shell.state().problem == "/a/broken.bin: is in no format; see");
    }
    SECTION("a folder without recordings") {
        opened.answer = fail(ErrorCode::not_found, "there is no recording in this folder", "/a");
        drop(screen, {"/a"});
        CHECK(session.runs.size() == 1);
        CHECK(screen.shell.state().problem == "/a: there is no recording in this folder");
    }
    CHECK(screen.shell.state().popup == "notice");
    CHECK(screen.shell.state().page == "views");
    CHECK(screen.shell.selection().run == 0);
    screen.press({"Enter"});
    screen.frames(3);
    CHECK(screen.shell.state().popup.empty());
}

TEST_CASE("who may not open files is not offered any", "[viz][shell][open]") {
    SampleSession content;
    Screen screen(content.session);
    screen.press({"Ctrl-O"});
    CHECK(screen.shell.state().popup.empty());
    CHECK(has(screen.shell.state().message, "can be opened from here"));
    drop(screen, {"/etc/passwd"});
    CHECK(content.session.runs.size() == 1);
    for (float x = 60; x < 1300; x += 8) {
        screen.click(x, 12);
        CHECK(screen.shell.state().popup != "open");
    }
}

TEST_CASE("the empty page and the header offer to open a file", "[viz][shell][open]") {
    Opened opened;
    SECTION("with nothing open") {
        opened.content.session.runs.clear();
        Screen screen(opened.content.session, opened.host());
        CHECK(screen.shell.state().page == "empty");
        for (float y = 180; y < 500 && screen.shell.state().popup.empty(); y += 8)
            screen.click(540, y);
        CHECK(screen.shell.state().popup == "open");
    }
    SECTION("beside what is open") {
        Screen screen(opened.content.session, opened.host());
        for (float x = 100; x < 600 && screen.shell.state().popup.empty(); x += 8)
            screen.click(x, 12);
        CHECK(screen.shell.state().popup == "open");
    }
}
