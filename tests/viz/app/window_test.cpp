// The real window: a display without a screen, mouse and keys as the X server hands them out, and
// what the program then says that it shows.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/live_folder.h"
#include "tests/viz/app/processes.h"
#include "viz/headless/png.h"
#include "viz/shell/layout.h"

namespace tidemark::viz {
namespace {

using nlohmann::json;
using support::wait_until;

constexpr const char* kSample = TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz";

// Over the timeline's curves.
constexpr int kX = 480;
constexpr int kY = 260;

// A running viewer with everything around it.
class Driven {
  public:
    explicit Driven(const std::vector<std::string>& arguments = {kSample, "--view", "timeline"},
                    const std::string& scale = "1") {
        REQUIRE_FALSE(display_.name().empty());
        std::filesystem::create_directories(folder_);
        std::vector<std::string> all{
            TIDEMARK_VIEW_PROGRAM, "--size",        "1200x820",   "--scale",    scale,
            "--built-in-font",     "--no-settings", "--state-to", state_path(), "--screenshot-to",
            image_path()};
        all.insert(all.end(), arguments.begin(), arguments.end());
        program_ = std::make_unique<support::Running>(
            all,
            // What OpenGL's drivers never free is no leak of ours; LeakSanitizer can't tell.
            support::Environment{{"DISPLAY", display_.name()},
                                 {"LIBGL_ALWAYS_SOFTWARE", "1"},
                                 {"ASAN_OPTIONS", "detect_leaks=0"}},
            folder_ / "errors");
    }

    ~Driven() {
        program_.reset();
        std::filesystem::remove_all(folder_);
    }

    support::Running& program() { return *program_; }

    std::string image_path() const { return folder_ / "last.png"; }

    // What the window shows now; null before its first frame.
    json state() const {
        std::ifstream file(state_path());
        std::string line;
        json last;
        while (std::getline(file, line))
            if (!file.eof())  // else it isn't whole yet
                last = json::parse(line);
        return last;
    }

    // xdotool's words: real events through the server.
    void act(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "xdotool");
        const support::Ended ended =
            support::run_program(arguments, {{"DISPLAY", display_.name()}});
        INFO(ended.err);
        REQUIRE(ended.code == 0);
    }

    void type(const std::string& name) { act({"key", name}); }

    void point(int x, int y) { act({"mousemove", std::to_string(x), std::to_string(y)}); }

    void click(int x, int y) {
        act({"mousemove", std::to_string(x), std::to_string(y), "click", "1"});
    }

    // Waits until the state is so; the test fails if it never is.
    template <class Met>
    json expect(const std::string& what, const Met& met) {
        json last;
        const bool found = wait_until([&] {
            if (!program_->alive())
                return false;
            last = state();
            return !last.is_null() && met(last);
        });
        INFO("waited for: " << what << "\nlast: " << last.dump());
        REQUIRE(found);
        return last;
    }

  private:
    std::string state_path() const { return folder_ / "state"; }

    support::Display display_;
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tidemark-window-" + std::to_string(::getpid()));
    std::unique_ptr<support::Running> program_;
};

bool can_run() {
    for (const char* name : {"Xvfb", "xdotool"})
        if (!support::has_program(name)) {
            WARN("skipped: no " << name << " here, so no window is driven");
            return false;
        }
    return true;
}

std::int64_t length(const json& state) {
    return state["window"][1].get<std::int64_t>() - state["window"][0].get<std::int64_t>();
}

// Whether two positions are the same to the eye: 600 pixels is less than the plot is wide.
bool near(const json& a, const json& b, std::int64_t window) {
    return !a.is_null() && !b.is_null() &&
           std::abs(a.get<std::int64_t>() - b.get<std::int64_t>()) <= 2 * (window / 600 + 1);
}

json loaded(Driven& viewer) {
    return viewer.expect("the run", [](const json& state) {
        return !state["loading"].get<bool>() && state["page"] == "views" &&
               state["extent"].get<std::int64_t>() > 1000;
    });
}

json pointed(Driven& viewer) {
    viewer.point(5, 5);  // it begins in the middle of the screen, over the plot as well
    viewer.expect("the mouse elsewhere",
                  [](const json& state) { return state["hover"].is_null(); });
    viewer.point(kX, kY);
    return viewer.expect("the mouse over the timeline",
                         [](const json& state) { return !state["hover"].is_null(); });
}

}  // namespace

TEST_CASE("the window does what mouse and keys say") {
    if (!can_run())
        return;
    Driven viewer;
    const json whole = loaded(viewer);
    const json before = pointed(viewer);
    const auto is_whole = [&whole](const json& state) {
        return state["window"] == whole["window"];
    };

    SECTION("the wheel zooms about the pointer, and out again to where it was") {
        for (int i = 1; i <= 5; ++i) {
            const std::int64_t last = length(viewer.state());
            viewer.act({"click", "4"});
            const json now = viewer.expect("a closer look", [&](const json& state) {
                return length(state) < last && near(state["hover"], before["hover"], last);
            });
            CHECK(now["window"][0] > whole["window"][0]);
        }
        for (int i = 0; i < 8; ++i)
            viewer.act({"click", "5"});
        viewer.expect("everything again", is_whole);
    }

    SECTION("dragging moves what is seen, and Ctrl-Z brings it back") {
        viewer.act({"click", "--repeat", "4", "4"});
        const json close = viewer.expect("a closer look", [&whole](const json& state) {
            return length(state) < length(whole) / 2;
        });
        const json held = pointed(viewer);
        viewer.act({"mousedown", "1", "mousemove", std::to_string(kX + 60), std::to_string(kY),
                    "mousemove", std::to_string(kX + 120), std::to_string(kY), "mouseup", "1"});
        viewer.expect("the same moment under the pointer", [&](const json& state) {
            return state["window"][0] < close["window"][0] && length(state) == length(close) &&
                   near(state["hover"], held["hover"], length(close));
        });
        viewer.type("ctrl+z");
        // To the last place where the camera came to rest: before the drag, or before the wheel.
        viewer.expect("the way back", [&](const json& state) {
            return state["window"] == close["window"] || is_whole(state);
        });
    }

    SECTION("W and S zoom, A and D move, Home shows all") {
        viewer.act({"keydown", "w"});
        const json close = viewer.expect("a closer look", [&whole](const json& state) {
            return length(state) < length(whole) / 2;
        });
        viewer.act({"keyup", "w"});
        viewer.act({"keydown", "d"});
        viewer.expect("later moments", [&close](const json& state) {
            return state["window"][0] > close["window"][0];
        });
        viewer.act({"keyup", "d"});
        viewer.type("Home");
        viewer.expect("everything again", is_whole);
    }

    SECTION("G goes to the peak, arrows step events from there") {
        viewer.point(5, 5);
        viewer.type("g");
        const json peak = viewer.expect(
            "a cursor at the peak", [](const json& state) { return !state["cursor"].is_null(); });
        viewer.type("Right");
        const json next = viewer.expect("the next event", [&peak](const json& state) {
            return state["cursor"] > peak["cursor"];
        });
        viewer.type("Left");
        viewer.expect("the peak again", [&](const json& state) {
            return state["cursor"] == peak["cursor"] && state["cursor"] != next["cursor"];
        });
    }

    SECTION("? opens the sheet of keys, F the search, and Escape leaves both") {
        viewer.type("question");
        viewer.expect("the sheet", [](const json& state) { return state["popup"] == "keys"; });
        viewer.type("Escape");
        viewer.expect("the views", [](const json& state) { return state["popup"] == ""; });
        viewer.type("f");
        viewer.expect("a place to type", [](const json& state) { return state["typing"] == true; });
        viewer.act({"type", "--delay", "50", "gelu"});
        const json found = viewer.expect(
            "what was typed", [](const json& state) { return state["filter"] == "gelu"; });
        CHECK(found["window"] == whole["window"]);  // letters were no commands meanwhile
        viewer.type("Escape");
        viewer.expect("no filter", [](const json& state) { return state["filter"] == ""; });
    }

    SECTION("shift-drag measures, a click puts the cursor, T changes the theme") {
        viewer.act({"keydown", "shift", "mousedown", "1", "mousemove", std::to_string(kX + 50),
                    std::to_string(kY), "mousemove", std::to_string(kX + 100), std::to_string(kY),
                    "mouseup", "1"});
        viewer.expect("a measured stretch",
                      [](const json& state) { return !state["measure"].is_null(); });
        viewer.act({"keyup", "shift"});
        viewer.act({"click", "1"});
        viewer.expect("a cursor under the mouse", [&whole](const json& state) {
            return near(state["cursor"], state["hover"], length(whole));
        });
        viewer.type("t");
        viewer.expect("a light theme", [](const json& state) { return state["dark"] == false; });
    }

    SECTION("a row of a table is selected by a click, and a click on a title sorts") {
        Splits splits;
        splits.strip_height = 54;
        const Box table = lay_out(1200, 820, 1, 13, splits).table;
        const int row = static_cast<int>(table.bottom) - 40;
        viewer.click(60, row);
        const json first = viewer.expect(
            "a selected block", [](const json& state) { return !state["block"].is_null(); });
        viewer.click(40, static_cast<int>(table.top) + 34);
        viewer.point(60, row);
        viewer.expect("another row there", [&first](const json& state) {
            return !state["hot_block"].is_null() && state["hot_block"] != first["block"] &&
                   state["block"] == first["block"];
        });
    }

    SECTION("with nothing to do it draws nothing") {
        viewer.point(5, 5);
        const auto next_theme = [&viewer] {
            const bool dark = viewer.state()["dark"].get<bool>();
            viewer.type("t");
            return viewer
                .expect("another theme",
                        [dark](const json& state) { return state["dark"] != dark; })
                .at("frame")
                .get<std::int64_t>();
        };
        // Long enough for all that goes on by itself to end: hover, settling, findings.
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const std::int64_t rested = next_theme();
        std::this_thread::sleep_for(std::chrono::seconds(2));
        // It draws a few frames for each of the two keys that went down and up; 120 if it didn't
        // rest.
        CHECK(next_theme() - rested < 40);
    }

    SECTION("what it shows last is what the graphics card drew") {
        viewer.type("ctrl+q");
        CHECK(viewer.program().wait() == 0);
        const Result<Bitmap> bitmap = read_png(viewer.image_path());
        REQUIRE(bitmap);
        CHECK(bitmap->width == 1200);
        CHECK(bitmap->height == 820);
        // Curves, text, lines: not one colour, and the ground is the theme's.
        std::size_t ground = 0;
        for (const Colour pixel : bitmap->pixels)
            ground += pixel == dark_theme().ground || pixel == dark_theme().plot ? 1U : 0U;
        CHECK(ground > bitmap->pixels.size() / 20);
        CHECK(ground < bitmap->pixels.size() * 19 / 20);
    }
}

TEST_CASE("at twice the size the window is drawn and driven the same way") {
    if (!can_run())
        return;
    Driven viewer({kSample, "--view", "timeline"}, "2");
    loaded(viewer);
    // Menu, and its way out; then a cursor.
    viewer.click(40, 24);
    viewer.expect("the menu", [](const json& state) { return state["popup"] == "menu"; });
    viewer.type("Escape");
    viewer.expect("the views", [](const json& state) { return state["popup"] == ""; });
    viewer.click(400, 560);
    viewer.expect("a cursor", [](const json& state) {
        return !state["cursor"].is_null() && state["cursor"] == state["hover"];
    });
    viewer.type("ctrl+q");
    CHECK(viewer.program().wait() == 0);
}

TEST_CASE("a window without a file shows what can be attached, also what starts later") {
    if (!can_run())
        return;
    support::LiveFolder folder;
    Driven viewer(std::vector<std::string>{});
    viewer.expect("an empty page", [](const json& state) { return state["page"] == "empty"; });
    support::Running program({TIDEMARK_LIVE_EXAMPLE, "--name", "trainer", "--rate", "5000"}, {},
                             "/dev/null");
    // Its button stands somewhere below the examples, as soon as the window has seen it.
    bool is_shown = false;
    for (int turn = 0; turn < 20 && !is_shown; ++turn)
        for (int y = 300; y < 600 && !is_shown; y += 20) {
            viewer.click(330, y);
            is_shown = viewer.state()["runs"] == 1;
        }
    viewer.expect("the program", [](const json& state) {
        return state["live"] == "live" && state["page"] == "views" && state["extent"] > 1000;
    });
}

TEST_CASE("a file is opened from an empty window, and replayed under another policy") {
    if (!can_run())
        return;
    Driven viewer(std::vector<std::string>{});
    viewer.expect("an empty page", [](const json& state) { return state["page"] == "empty"; });
    viewer.type("ctrl+o");
    viewer.expect("the chooser", [](const json& state) {
        return state["popup"] == "open" && state["typing"].get<bool>();
    });
    viewer.act({"type", kSample});
    viewer.type("Return");
    loaded(viewer);
    viewer.type("shift+u");
    viewer.expect("the policies", [](const json& state) {
        return state["popup"] == "replay" && state["typing"].get<bool>();
    });
    viewer.act({"type", "buddy"});
    viewer.type("Return");
    viewer.type("Return");
    viewer.expect("both", [](const json& state) {
        return state["runs"] == 2 && state["popup"] == "" && state["main"] == json{"compare"} &&
               !state["loading"].get<bool>();
    });
    // A folder is opened whole, what can't be leaves what is there.
    viewer.type("ctrl+o");
    viewer.expect("the chooser again", [](const json& state) {
        return state["popup"] == "open" && state["typing"].get<bool>();
    });
    viewer.act({"type", "/dev/null"});
    viewer.type("Return");
    viewer.expect("why not", [](const json& state) {
        return state["popup"] == "notice" && state["page"] == "views" && state["run"] == 0;
    });
    viewer.type("Escape");
    viewer.type("ctrl+q");
    CHECK(viewer.program().wait() == 0);
}

TEST_CASE("a living program is followed, paused, outlived, and its successor attached") {
    if (!can_run())
        return;
    support::LiveFolder folder;
    const std::vector<std::string> arguments{TIDEMARK_LIVE_EXAMPLE, "--name", "trainer", "--rate",
                                             "5000"};
    auto program =
        std::make_unique<support::Running>(arguments, support::Environment{}, "/dev/null");
    REQUIRE(wait_until([&folder] {
        std::error_code ignored;
        return !std::filesystem::is_empty(folder.path() / "run", ignored) && !ignored;
    }));
    Driven viewer({"--attach", "trainer", "--view", "timeline"});
    const auto grown = [&viewer](const json& than) {
        return viewer.expect("a longer run", [&than](const json& state) {
            return state["live"] == "live" && state["page"] == "views" &&
                   state["extent"] > than["extent"] && state["window"][1] == state["extent"];
        });
    };
    const json first = grown({{"extent", 1000}});
    grown(first);

    viewer.type("space");
    viewer.expect("a pause", [](const json& state) { return state["live"] == "paused"; });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what was on its way is there
    const json paused = viewer.state();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(viewer.state()["extent"] == paused["extent"]);
    viewer.type("space");
    const json last = grown(paused);

    program.reset();  // killed
    const json ended =
        viewer.expect("its end", [](const json& state) { return state["live"] == "ended"; });
    CHECK(ended["page"] == "views");
    CHECK(ended["extent"] >= last["extent"]);
    viewer.type("g");
    viewer.expect("its peak", [](const json& state) { return !state["cursor"].is_null(); });

    program = std::make_unique<support::Running>(arguments, support::Environment{}, "/dev/null");
    // The button for it is somewhere in the status line, as soon as the window has seen it.
    bool is_attached = false;
    for (int turn = 0; turn < 20 && !is_attached; ++turn)
        for (int x = 500; x < 960 && !is_attached; x += 60) {
            viewer.click(x, 808);
            is_attached = viewer.state()["runs"] == 2;
        }
    const json again = viewer.expect("the new one", [](const json& state) {
        return state["live"] == "live" && state["run"] == 1;
    });
    CHECK(again["runs"] == 2);
}

}  // namespace tidemark::viz
