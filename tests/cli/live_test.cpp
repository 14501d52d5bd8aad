// tidemark live: cleaning up what programs left.
#include <chrono>
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"
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
    CHECK(contains(support::tidemark({"live", "--recordings"}).out, "No recording lies in"));
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
