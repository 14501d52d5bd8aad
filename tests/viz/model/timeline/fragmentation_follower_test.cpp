// The curve that is shown: after the first sweep, and while its history grows.
#include "viz/model/timeline/fragmentation_follower.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "replay/scenario/record_history.h"
#include "tests/support/small_history.h"
#include "traces/open.h"
#include "viz/model/timeline/timeline_columns.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

// As a screen does: frame by frame.
std::shared_ptr<const FragmentationCurve> look_until(FragmentationFollower& follower,
                                                     const std::shared_ptr<const History>& history,
                                                     std::size_t events) {
    for (;;) {
        auto curve = follower.look(history, false);
        if (curve && curve->events() >= events)
            return curve;
        REQUIRE_FALSE(follower.failed());
        std::this_thread::yield();
    }
}

}  // namespace

TEST_CASE("fragmentation is there after the first sweep, and grows", "[viz][fragmentation]") {
    SmallHistory steps;
    steps.segment(0x10000, 1000).allocate(1, 100, {.address = 0x10000});
    const auto history = steps.look();
    FragmentationFollower follower;
    CHECK(follower.share() == 1);  // of nothing
    const auto curve = look_until(follower, history, 2);
    CHECK(curve->held(1) == 1000);
    CHECK(follower.share() == 1);
    steps.free(1).look();
    CHECK(follower.share() < 1);
    CHECK(look_until(follower, history, 3) == curve);
    CHECK(curve->held(2) == 0);
    CHECK(follower.look(nullptr, true) == nullptr);
    CHECK_FALSE(follower.busy());
}

TEST_CASE("a picture waits for it, also where a sweep was wrong", "[viz][fragmentation]") {
    SmallHistory steps;
    steps.reserve(0x1000'0000, 1_GiB).map(0x1000'0000, 20_MiB).map(0x1000'0000 + 20_MiB, 20_MiB);
    steps.allocate(1, 1_MiB, {.address = 0x1000'0000});
    const auto history = steps.look();
    FragmentationFollower follower;
    const auto first = follower.look(history, true);
    REQUIRE(first);
    CHECK(first->fragmentation(3) == 19_MiB);
    steps.idle();
    steps.builder().reuse(steps.block(1));  // it ended, and no event said so
    steps.build();
    const auto second = follower.look(history, true);
    REQUIRE(second);
    CHECK(second != first);
    CHECK(second->events() == 5);
    CHECK(second->fragmentation(3) == 19_MiB);
    CHECK(second->fragmentation(4) == 0);
    CHECK_FALSE(follower.busy());

    const IdleMemory idle = idle_of(history->values(3), second.get(), 3);
    CHECK(idle.cached == 20_MiB);
    CHECK(idle.fragmentation == 19_MiB);
    CHECK(idle_of(history->values(3), nullptr, 3).cached == 39_MiB);
    CHECK_FALSE(idle_of(history->values(3), nullptr, 3).fragmentation);
}

TEST_CASE("fragmentation is kept with a history, and taken from there", "[viz][fragmentation]") {
    namespace fs = std::filesystem;
    std::string folder = (fs::temp_directory_path() / "tidemark-follower-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    const std::string path = folder + "/run.tmk";
    REQUIRE(import_trace("generate:mix:events=20000", path));
    const auto record = [&path] {
        const auto trace = open_trace(path);
        REQUIRE(trace);
        auto recorded = record_history(**trace, {.trace = path, .policy = "torch"});
        REQUIRE(recorded);
        return recorded->history;
    };
    const auto history = record();
    FragmentationFollower follower;
    const auto swept = look_until(follower, history, 20000);
    CHECK(follower.look(history, true));  // waits until it is kept
    CHECK_FALSE(follower.busy());
    const fs::path head = fs::path(history->kept_in()) / "held-head";
    REQUIRE(fs::exists(head));
    const fs::path link = folder + "/link";
    fs::create_hard_link(head, link);

    const auto again = record();
    FragmentationFollower second;
    const auto taken = second.look(again, true);
    REQUIRE(taken);
    CHECK(taken->swept() == 0);
    CHECK(fs::equivalent(head, link));  // nothing was kept again
    for (EventIndex event = 0; event < 20000; ++event)
        REQUIRE(taken->held(event) == swept->held(event));
    fs::remove_all(folder);
}
