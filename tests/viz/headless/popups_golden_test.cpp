// What lies over the views, and pages without views, against their golden pictures.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/test_folder.h"
#include "tests/viz/headless/golden.h"
#include "tests/viz/shell/sample_session.h"

namespace tidemark::viz {
namespace {

namespace fs = std::filesystem;

// Size and theme of a picture.
struct Look {
    const char* name;
    std::uint32_t width;
    std::uint32_t height;
    bool dark;
};

constexpr Look kSmallDark{"small", 900, 600, true};
constexpr Look kLargeLight{"large", 1600, 900, false};

// A home folder with what people have in it.
struct Home {
    support::TestFolder folder;

    Home() {
        ::setenv("HOME", folder.path().c_str(), 1);
        fs::create_directory(folder.file("runs"));
        fs::create_directory(folder.file("runs/ranks"));
        age("runs/ranks", 60 * 24 * 9);
        constexpr const char* kLog = "Thread,Time,Action,Pointer,Size,Stream\n";
        write("oom-step-1200.csv", kLog, 12);
        write("baseline.csv", kLog, 60 * 5);
        write("notes.txt", "batch size 48", 60 * 26);
        write("a\nname \xff of bytes.csv", kLog, 60 * 24 * 400);
    }

    void age(const std::string& name, int minutes) const {
        const auto now = fs::file_time_type::clock::now();
        fs::last_write_time(folder.file(name),
                            now - std::chrono::minutes(minutes) - std::chrono::seconds(20));
    }

    void write(const std::string& name, const char* content, int minutes) const {
        folder.write("runs/" + name, content);
        age("runs/" + name, minutes);
    }
};

// A shell in a window that can do everything, and what keys and letters make of it.
class Drawn {
  public:
    Drawn(Session& session, const Look& look)
        : screen_({look.width, look.height, 1, FontChoice::built_in}), shell_(session, host()) {
        shell_.set_dark(look.dark);
        screen_.io().MousePos = {-1, -1};
        screen_.io().ConfigInputTextCursorBlink = false;
        frames(4);
    }

    Shell& shell() { return shell_; }

    void press(KeyPress press) {
        ShellInput input;
        input.keys = {press};
        frame(input);
        frames(3);
    }

    void type(std::string_view text) {
        for (const char letter : text)
            screen_.io().AddInputCharacter(static_cast<unsigned char>(letter));
        frames(3);
    }

    void drop(const std::string& path) {
        ShellInput input;
        input.dropped = {path};
        frame(input);
        frames(3);
    }

    // Once folders are read and nothing moves.
    Bitmap bitmap() {
        do {
            frames(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(shell_.busy() ? 1 : 0));
        } while (shell_.busy());
        screen_.begin(shell_.theme());
        shell_.draw({});
        return screen_.end();
    }

  private:
    static ShellHost host() {
        ShellHost host;
        host.open = [](const std::vector<std::string>& paths) -> Result<void> {
            return fail(ErrorCode::bad_input, "is in no format that Tidemark reads", paths.front(),
                        "it reads .tmk, PyTorch snapshots, RMM logs and .jsonl");
        };
        host.replay = [](std::size_t, const std::string&) { return Result<std::size_t>(0); };
        return host;
    }

    void frame(const ShellInput& input) {
        screen_.begin(shell_.theme());
        shell_.draw(input);
        screen_.skip();
    }

    void frames(int count) {
        for (int i = 0; i < count; ++i)
            frame({});
    }

    Offscreen screen_;
    Shell shell_;
};

constexpr KeyPress kOpen{key('o'), true, false, false};
constexpr KeyPress kReplayUnder{key('u'), false, true, false};
constexpr KeyPress kEnter{Key::enter, false, false, false};

void check(const std::string& name, const Look& look, Drawn& drawn) {
    check_golden(name + "-" + look.name, drawn.bitmap());
}

}  // namespace

TEST_CASE("the choosers, and pages without runs to look at, look as they did") {
    const Home home;
    for (const Look& look : {kSmallDark, kLargeLight}) {
        SampleSession opened;
        Session empty;
        {
            Drawn drawn(empty, look);
            check("empty-page", look, drawn);
        }
        Drawn drawn(opened.session, look);
        drawn.press(kOpen);
        drawn.type("~/runs/");
        check("open-file", look, drawn);
        drawn.press({Key::escape, false, false, false});
        drawn.press(kReplayUnder);
        drawn.type("pool");
        check("replay-under", look, drawn);
        drawn.press({Key::escape, false, false, false});
        drawn.press(kReplayUnder);
        drawn.type("torch");
        drawn.press(kEnter);
        drawn.type("12 parsecs");
        check("replay-options", look, drawn);
        drawn.press({Key::escape, false, false, false});
        drawn.press({Key::escape, false, false, false});
        REQUIRE(drawn.shell().show("compare"));
        check("compare-empty", look, drawn);
        drawn.drop("/data/runs/core.1234");
        check("not-opened", look, drawn);
    }
}

}  // namespace tidemark::viz
