// readable_axis: time where it shows the steps, events where it hides them.
#include "replay/facts/readable_axis.h"

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"

namespace tidemark {
namespace {

using support::SmallHistory;

constexpr std::uint64_t kSteps = 10;
constexpr std::uint64_t kBlocks = 100;
constexpr Nanoseconds kStep = 20 * kBlocks;  // as long as SmallHistory makes it

// A model of one block, and steps of many blocks after `load`, with so long pauses between them.
std::shared_ptr<const History> training(Nanoseconds load, Nanoseconds pause) {
    SmallHistory history;
    history.allocate(0, 1_MiB);
    for (std::uint64_t step = 0; step < kSteps; ++step) {
        history.at(load + static_cast<Nanoseconds>(step) * (kStep + pause));
        for (std::uint64_t i = 1; i <= kBlocks; ++i)
            history.allocate(step * kBlocks + i, 1_MiB);
        for (std::uint64_t i = 1; i <= kBlocks; ++i)
            history.free(step * kBlocks + i);
    }
    return history.build();
}

}  // namespace

TEST_CASE("steps that time makes as narrow as a pixel are read over events") {
    CHECK(facts::readable_axis(*training(1000 * kStep, 0)) == AxisUnit::events);
    CHECK(facts::readable_axis(*training(0, 1000 * kStep)) == AxisUnit::events);
    CHECK(facts::readable_axis(*training(0, 0)) == AxisUnit::time);
    CHECK(facts::readable_axis(*training(kStep, 0)) == AxisUnit::time);
}

TEST_CASE("an axis without length is that of time") {
    CHECK(facts::readable_axis(*SmallHistory().build()) == AxisUnit::time);
}

}  // namespace tidemark
