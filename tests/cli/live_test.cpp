// tidemark live: cleaning up what programs left.
#include <chrono>
#include <filesystem>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/cli/command_line.h"
#include "tests/support/dead_program.h"
#include "tests/support/live_child.h"
#include "tests/support/live_folder.h"
#include "traces/live/publisher.h"

using namespace tidemark;
using support::contains;

namespace {

namespace fs = std::filesystem;

// A program that has published and ended; returns its recording's file.
std::string run_program(const support::LiveFolder& folder, const std::string& name) {
    support::LiveChild child([&](support::LiveChild::Shared&) {
        static_cast<void>(live::Publisher::start({.name = name}));
    });
    child.join();
    for (const auto& entry : fs::directory_iterator(folder.path() / "recordings")) {
        if (entry.path().filename().string().starts_with(name))
            return entry.path().string();
    }
    return {};
}

}  // namespace

TEST_CASE("live --clean removes what has ended and is old enough", "[cli][live]") {
    const support::LiveFolder folder;
    const std::string young = run_program(folder, "young");
    const std::string old = run_program(folder, "old");
    REQUIRE_FALSE(young.empty());
    REQUIRE_FALSE(old.empty());
    fs::last_write_time(old, fs::last_write_time(old) - std::chrono::hours(50));

    const support::Said listed = support::tidemark({"live", "--recordings"});
    CHECK(listed.code == 0);
    CHECK(listed.out.find("old") < listed.out.find("young"));
    CHECK(contains(listed.out, "2 recordings"));

    const support::Said cleaned = support::tidemark({"live", "--clean", "--older-than", "2d"});
    CHECK(cleaned.code == 0);
    CHECK(contains(cleaned.out, "removed " + old));
    CHECK_FALSE(fs::exists(old));
    CHECK(fs::exists(young));

    CHECK(contains(support::tidemark({"live", "--clean"}).out, "removed " + young));
    CHECK_FALSE(fs::exists(young));
    CHECK(contains(support::tidemark({"live", "--recordings"}).out, "No recordings in"));
}

TEST_CASE("one program that can't be recovered keeps no other from it", "[cli][live]") {
    const support::LiveFolder folder;
    const std::string mine = folder.write("mine", "what I wrote for years");
    support::DeadProgram trapped{.name = "trapped", .recording = folder.file("trap.tml")};
    fs::create_symlink(mine, trapped.recording);
    trapped.leave(folder);
    const support::DeadProgram sound{
        .session = 78, .name = "sound", .recording = folder.file("sound.tml")};
    folder.write("sound.tml", sound.recording_bytes());
    sound.leave(folder);
    REQUIRE(::mkfifo(folder.file("run/pipe.live").c_str(), 0600) == 0);

    const support::Said said = support::tidemark({"live", "--recover"});

    CHECK(said.code == 3);
    CHECK(contains(said.out, "sound (2147483632): 30 events put into " + sound.recording));
    CHECK(contains(said.err, "not recovered: " + trapped.recording + ": is a link"));
    const std::string skipped = "skipped: " + folder.file("run/pipe.live");
    CHECK(contains(said.err, skipped));
    CHECK(said.err.find(skipped) == said.err.rfind(skipped));
    CHECK(folder.read("mine") == "what I wrote for years");
    CHECK(support::tidemark({"live"}).code == 0);
}

TEST_CASE("live says whose a folder is that it doesn't read", "[cli][live]") {
    const support::LiveFolder folder;
    support::DeadProgram{.recording = folder.file("a.tml")}.leave(folder);
    REQUIRE(::chmod(folder.file("run").c_str(), 0777) == 0);
    const support::Said open = support::tidemark({"live"});
    CHECK(open.code == 0);
    CHECK(contains(open.err, "can be written by other users"));
    CHECK(contains(open.err, "TIDEMARK_RUNTIME_DIR"));
    CHECK_FALSE(contains(open.out, "victim"));

    fs::create_directory(folder.file("recordings"));
    REQUIRE(::chmod(folder.file("recordings").c_str(), 0777) == 0);
    for (const char* option : {"--recordings", "--clean"}) {
        const support::Said said = support::tidemark({"live", option});
        CHECK(said.code == 3);
        CHECK(contains(said.err, "can be written by other users"));
        CHECK(contains(said.err, "TIDEMARK_RECORDINGS"));
    }
}

TEST_CASE("live says what is wrong with an age", "[cli][live]") {
    const support::LiveFolder folder;
    for (const std::string age :
         {"7", "d", "7x", "-7d", "7dd", "99999999999999999999d", "99999999d"}) {
        const support::Said said = support::tidemark({"live", "--clean", "--older-than", age});
        INFO(age);
        CHECK(said.code == 2);
        CHECK(contains(said.err, "--older-than"));
    }
    CHECK(support::tidemark({"live", "--older-than", "7d"}).code == 2);
}
