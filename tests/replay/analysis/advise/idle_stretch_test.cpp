// Memory that a short peak leaves reserved: where it lies idle, and what emptying the cache gives.
#include "replay/analysis/advise/idle_stretch.h"

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "tests/support/vector_trace.h"

namespace tidemark {
namespace {

TrialSetup torch_setup(const CostProfile& profile) {
    const auto policy = parse_policy("torch");
    REQUIRE(policy);
    return {.policy = *policy, .profile = &profile};
}

// Steps of one block of 100 MiB, before some of which an evaluation takes 1 GiB. The first step's
// block may live on, in the segment of the first evaluation, beside a second one of 900 MiB.
support::VectorTrace steps(int count, int evaluation_every, bool keeps_one = false) {
    std::vector<TraceEvent> events;
    std::uint32_t slot = 0;
    const auto add = [&](EventKind kind, Bytes size) {
        TraceEvent event;
        event.kind = kind;
        event.slot = slot;
        event.size = size;
        event.time = 1000 * static_cast<Nanoseconds>(events.size());
        events.push_back(event);
    };
    const auto block = [&](Bytes size, bool lives_on) {
        add(EventKind::allocate, size);
        if (!lives_on)
            add(EventKind::free, 0);
        ++slot;
    };
    for (int i = 0; i < count; ++i) {
        if (i % evaluation_every == 0)
            block(1_GiB, false);
        block(100_MiB, keeps_one && i == 0);
        if (keeps_one && i == 0)
            block(900_MiB, false);
    }
    return support::VectorTrace(std::move(events));
}

TEST_CASE("what an evaluation leaves lies idle up to the next one", "[advise][idle]") {
    const auto profile = load_profile("h200");
    REQUIRE(profile);
    const auto trace = steps(60, 20);
    const auto found = find_idle_stretch(trace, torch_setup(*profile));
    REQUIRE(found);
    REQUIRE(*found);
    const IdleStretch& idle = **found;
    CHECK(idle.active == 100_MiB);
    CHECK(idle.reserved == 1_GiB);
    CHECK(idle.emptied == 100_MiB);
    CHECK(idle.given_back() == 924_MiB);
    CHECK(idle.longer > 0);
    // From just after the first evaluation's free to just before the second, or the like later.
    CHECK(idle.to - idle.from >= 40);
    CHECK(idle.to - idle.from <= 41);
    CHECK(idle.from % 42 <= 2);
    CHECK(idle.time == 1000 * static_cast<Nanoseconds>(idle.from));
}

TEST_CASE("a run whose every step needs its peak leaves nothing idle", "[advise][idle]") {
    const auto profile = load_profile("h200");
    REQUIRE(profile);
    const auto found = find_idle_stretch(steps(60, 1), torch_setup(*profile));
    REQUIRE(found);
    CHECK_FALSE(*found);
}

TEST_CASE("what emptying the cache can't give back is no idle memory", "[advise][idle]") {
    const auto profile = load_profile("h200");
    REQUIRE(profile);
    const auto found = find_idle_stretch(steps(60, 100, true), torch_setup(*profile));
    REQUIRE(found);
    CHECK_FALSE(*found);
}

}  // namespace
}  // namespace tidemark
