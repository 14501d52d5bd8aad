// "Replay under ...": a policy is chosen, its options are set, and both runs stand beside each
// other.
#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/viz/shell/sample_session.h"
#include "viz/model/navigation/loader.h"

using namespace tidemark;
using namespace tidemark::viz;

namespace {

struct Replays {
    SampleSession content;
    std::vector<std::string> policies;

    ShellHost host() {
        ShellHost host;
        host.replay = [this](std::size_t, const std::string& policy) -> Result<std::size_t> {
            policies.push_back(policy);
            ViewedRun run;
            run.label = run.policy = policy;
            content.session.runs.push_back(std::move(run));
            return content.session.runs.size() - 1;
        };
        return host;
    }
};

using Policies = std::vector<std::string>;

}  // namespace

TEST_CASE("Shift-U, a name and two Enters replay under a policy and compare", "[viz][shell]") {
    Replays replays;
    Screen screen(replays.content.session, replays.host());
    screen.press({"Shift-U"});
    REQUIRE(screen.shell.state().popup == "replay");
    screen.type("vpmm");
    screen.press({"Enter", "Enter"});
    CHECK(replays.policies == Policies{"vpmm"});
    CHECK(screen.shell.state().popup.empty());
    CHECK(screen.shell.state().main == std::vector<std::string>{"compare"});
    CHECK(screen.shell.selection().compared_first == 0);
    CHECK(screen.shell.selection().compared_second == 1);
    CHECK(screen.shell.state().message == "Replaying under vpmm");
    // Both Enters in one frame, as a slow window gets them.
    screen.press({"Shift-U"});
    screen.type("buddy");
    ShellInput input;
    input.keys = {{Key::enter, false, false, false}, {Key::enter, false, false, false}};
    screen.frame(input);
    screen.frames(3);
    CHECK(replays.policies.back() == "buddy");
}

TEST_CASE("options are typed into their fields and read by the parser of command lines",
          "[viz][shell]") {
    Replays replays;
    Screen screen(replays.content.session, replays.host());
    screen.press({"Shift-U"});
    screen.type("vpmm");
    screen.press({"Enter"});
    screen.type("four");  // of the first option, page
    CHECK(screen.shell.state().problem != "");
    CHECK(has(to_text(parse_policy("vpmm:page=four").error()),
              screen.shell.state().problem.substr(0, 20)));
    screen.press({"Enter"});
    CHECK(replays.policies.empty());
    CHECK(screen.shell.state().popup == "replay");
    // To the list and back: fields are empty again.
    screen.press({"Esc"});
    CHECK(screen.shell.state().popup == "replay");
    screen.press({"Enter"});
    screen.type("4MiB");
    screen.press({"Tab"});
    screen.type("1TiB");
    screen.press({"Ctrl-C"});
    CHECK(screen.clipboard == "--policy vpmm:page=4MiB,va_size=1TiB");
    screen.press({"Enter"});
    CHECK(replays.policies == Policies{"vpmm:page=4MiB,va_size=1TiB"});
}

TEST_CASE("a whole setting may be typed or pasted, wrong ones say what is wrong", "[viz][shell]") {
    Replays replays;
    Screen screen(replays.content.session, replays.host());
    screen.press({"Shift-U"});
    screen.type("best-fit:wrong=1");
    screen.press({"Enter"});
    CHECK(replays.policies.empty());
    CHECK(has(to_text(parse_policy("best-fit:wrong=1").error()),
              screen.shell.state().problem.substr(0, 20)));
    CHECK(screen.shell.state().problem.size() > 20);
    screen.press({"Esc", "Shift-U"});
    screen.type("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    screen.press({"Enter"});
    CHECK(replays.policies == Policies{"torch:expandable_segments=true"});
    screen.press({"Shift-U", "Esc"});
    CHECK(screen.shell.state().popup.empty());
}

TEST_CASE("the mouse chooses a policy, a value and starts", "[viz][shell]") {
    Replays replays;
    Screen screen(replays.content.session, replays.host());
    screen.press({"Shift-U"});
    screen.type("torch");
    screen.click(600, 203);  // the first row
    screen.press({"Ctrl-C"});
    CHECK(screen.clipboard == "--policy torch");
    const auto changed = [&] {
        screen.press({"Ctrl-C"});
        return screen.clipboard != "--policy torch";
    };
    // Somewhere among the options true can be clicked.
    for (float y = 180; y < 560 && !changed(); y += 6)
        screen.click(800, y);
    CHECK(has(screen.clipboard, "--policy torch:"));
    for (float y = 640; y < 760 && replays.policies.empty(); y += 6)
        screen.click(410, y);
    REQUIRE(replays.policies.size() == 1);
    CHECK("--policy " + replays.policies.front() == screen.clipboard);
}

TEST_CASE("what can't be replayed under a policy says why", "[viz][shell]") {
    Replays replays;
    Session& session = replays.content.session;
    const auto message = [&](ShellHost host) {
        Screen screen(session, std::move(host));
        screen.press({"Shift-U"});
        CHECK(screen.shell.state().popup.empty());
        return screen.shell.state().message;
    };
    CHECK(message({}) == "Nothing can be replayed from here.");
    session.runs[0].live.emplace();
    CHECK(has(message(replays.host()), "tidemark record"));
    session.runs[0].live.reset();
    session.runs[0].history.reset();
    session.runs[0].tiers = std::make_shared<TierRun>();
    CHECK(has(message(replays.host()), "--gpu-memory"));
    session.runs[0].tiers.reset();
    session.runs[0].state.phase = LoadState::Phase::failed;
    CHECK(has(message(replays.host()), "could not be opened"));
    session.runs.clear();
    CHECK(has(message(replays.host()), "Nothing is open"));
}

TEST_CASE("the empty Compare tab offers policies, and another file where one may be opened",
          "[viz][shell]") {
    Replays replays;
    Session& session = replays.content.session;
    const auto sweep_for = [](Screen& screen, const char* popup) {
        for (float y = 120; y < 600; y += 10)
            for (float x = 490; x < 1110; x += 40) {
                screen.click(x, y);
                if (screen.shell.state().popup == popup)
                    return true;
                screen.press({"Esc"});
            }
        return false;
    };
    SECTION("the list of policies") {
        Screen screen(session, replays.host());
        REQUIRE(screen.shell.show("compare"));
        screen.frames(2);
        for (float x = 490; x < 1110 && screen.shell.state().popup.empty(); x += 10)
            for (float y = 120; y < 400 && screen.shell.state().popup.empty(); y += 10) {
                if (session.runs.size() > 1)
                    session.runs.pop_back();
                screen.click(x, y);
            }
        CHECK(screen.shell.state().popup == "replay");
    }
    SECTION("a policy by a click") {
        Screen screen(session, replays.host());
        REQUIRE(screen.shell.show("compare"));
        screen.frames(2);
        for (float y = 400; y > 100 && replays.policies.empty(); y -= 10)
            for (float x = 1000; x > 490 && replays.policies.empty(); x -= 20) {
                screen.click(x, y);
                screen.press({"Esc"});
            }
        REQUIRE(replays.policies.size() == 1);
        CHECK(find_policy(replays.policies.front()));
        CHECK(screen.shell.state().main == std::vector<std::string>{"compare"});
    }
    SECTION("a file") {
        ShellHost host;
        host.open = [](const std::vector<std::string>&) { return Result<void>(); };
        Screen screen(session, host);
        REQUIRE(screen.shell.show("compare"));
        screen.frames(2);
        CHECK(sweep_for(screen, "open"));
    }
    SECTION("nothing where nothing can be done") {
        Screen screen(session);
        REQUIRE(screen.shell.show("compare"));
        screen.frames(2);
        CHECK_FALSE(sweep_for(screen, "open"));
    }
}

TEST_CASE("a replay that is chosen in the window is compared with what is open", "[viz][shell]") {
    Session session;
    Loader loader(session);
    LoadRequest request;
    request.files = {TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz"};
    request.keep = request.advises = false;
    loader.add(request);
    loader.wait();
    ShellHost host;
    host.replay = [&](std::size_t run, const std::string& policy) {
        return loader.replay(run, policy);
    };
    Screen screen(session, std::move(host));
    const auto replay_under = [&](std::string_view policy) {
        screen.press({"Shift-U"});
        screen.type(policy);
        screen.press({"Enter", "Enter"});
        loader.wait();
        screen.frames(3);
    };
    replay_under("buddy");
    REQUIRE(session.runs.size() == 2);
    CHECK(session.runs[1].state.phase == LoadState::Phase::ready);
    CHECK(session.runs[1].run->scenario.policy == "buddy");
    CHECK(screen.shell.state().main == std::vector<std::string>{"compare"});
    // It is there already; what was cancelled is tried again.
    replay_under("buddy");
    CHECK(session.runs.size() == 2);
    CHECK(screen.shell.state().message == "Already open: buddy");
    session.runs[1].state.phase = LoadState::Phase::failed;
    replay_under("buddy");
    CHECK(session.runs.size() == 3);
    CHECK(session.runs[2].label != session.runs[1].label);
}
