// The curve that is shown: after the first sweep, and while its history grows.
#include "viz/model/timeline/fragmentation_follower.h"

#include <thread>

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
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
    steps.reserve(0x1000'0000, 1_GiB).map(0x1000'0000, 20_MiB);
    steps.allocate(1, 1_MiB, {.address = 0x1000'0000});
    const auto history = steps.look();
    FragmentationFollower follower;
    const auto first = follower.look(history, true);
    REQUIRE(first);
    CHECK(first->fragmentation(2) == 19_MiB);
    steps.map(0x1000'0000 + 20_MiB, 2_MiB);  // pages of 2 MiB, then
    steps.build();
    const auto second = follower.look(history, true);
    REQUIRE(second);
    CHECK(second != first);
    CHECK(second->events() == 4);
    CHECK(second->fragmentation(2) == 1_MiB);
    CHECK_FALSE(follower.busy());

    const IdleMemory idle = idle_of(history->values(2), second.get(), 2);
    CHECK(idle.cached == 18_MiB);
    CHECK(idle.fragmentation == 1_MiB);
    CHECK(idle_of(history->values(2), nullptr, 2).cached == 19_MiB);
    CHECK_FALSE(idle_of(history->values(2), nullptr, 2).fragmentation);
}
