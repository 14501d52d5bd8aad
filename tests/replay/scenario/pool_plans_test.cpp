// Plans of private pools, read off traces; and what they are worth on a recording of CUDA graphs.
#include "replay/scenario/pool_plans.h"

#include <catch2/catch.hpp>

#include "core/capture/planner.h"
#include "replay/scenario/scenario.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using support::TraceBuilder;

TraceEvent request(std::uint32_t slot, Bytes size, std::uint32_t pool, std::uint32_t stream = 0) {
    return {.size = size, .slot = slot, .stream = StreamId{stream}, .aux = pool};
}

TraceEvent scope(EventKind kind, std::uint32_t pool) {
    return {.aux = pool, .kind = kind};
}

std::vector<PlannedAllocation> plan_of(const Trace& trace, std::uint32_t pool) {
    const Result<PoolPlans> plans = pool_plans(trace, PlanScope::private_pools);
    REQUIRE(plans);
    const auto found = plans->find({0, PoolId{pool}});
    return found == plans->end() ? std::vector<PlannedAllocation>{} : found->second;
}

TEST_CASE("a pool's plan is its requests, with their lives in the pool's own count") {
    const auto trace = TraceBuilder()
                           .add(request(0, 100, 1, 2))
                           .add(request(1, 999, 0))
                           .end(EventKind::free, 0)
                           .add(request(2, 200, 1))
                           .end(EventKind::retire, 2)
                           .add(request(3, 300, 7))
                           .end(EventKind::finish, 2)
                           .add(request(4, 400, 1))
                           .build();
    const std::vector<PlannedAllocation> plan = plan_of(trace, 1);
    REQUIRE(plan.size() == 3);
    CHECK(plan[0].size == 100);
    CHECK(plan[0].begin == 0);
    CHECK(plan[0].end == 1);
    CHECK(plan[0].stream == StreamId{2});
    CHECK_FALSE(plan[0].escapes);
    CHECK(plan[1].begin == 2);
    CHECK(plan[1].end == 3);
    CHECK_FALSE(plan[1].escapes);
    CHECK(plan[2].escapes);
    CHECK(plan_of(trace, 7).size() == 1);
    CHECK(plan_of(trace, 0).empty());
}

TEST_CASE("what ends after a pool's last request escapes, unless its scope is still open") {
    TraceBuilder open;
    open.add(scope(EventKind::pool_begin, 1)).add(request(0, 100, 1)).end(EventKind::free, 0);
    open.add(scope(EventKind::pool_end, 1));
    CHECK_FALSE(plan_of(open.build(), 1)[0].escapes);

    TraceBuilder ended;
    ended.add(scope(EventKind::pool_begin, 1)).add(request(0, 100, 1));
    ended.add(scope(EventKind::pool_end, 1)).end(EventKind::free, 0);
    CHECK(plan_of(ended.build(), 1)[0].escapes);

    CHECK(plan_of(TraceBuilder().add(request(0, 1, 1)).free(0).build(), 1)[0].escapes);
}

TEST_CASE("what another stream uses too escapes, since a plan does not know when that is done") {
    const auto trace = TraceBuilder()
                           .add(request(0, 100, 1))
                           .end(EventKind::record_use, 0, 3)
                           .end(EventKind::free, 0)
                           .add(request(1, 100, 1))
                           .end(EventKind::record_use, 1, 0)
                           .end(EventKind::free, 1)
                           .add(request(2, 100, 1))
                           .build();
    const std::vector<PlannedAllocation> plan = plan_of(trace, 1);
    CHECK(plan[0].escapes);
    CHECK_FALSE(plan[1].escapes);
}

TEST_CASE("a slot that is taken again without a free ends what lived in it") {
    const auto trace =
        TraceBuilder().add(request(0, 100, 1)).add(request(0, 200, 1)).free(0).build();
    const std::vector<PlannedAllocation> plan = plan_of(trace, 1);
    REQUIRE(plan.size() == 2);
    CHECK(plan[0].end == 1);
    CHECK(plan[1].begin == 2);
}

TEST_CASE("a plan of everything has all requests, whatever their pools") {
    const auto trace = TraceBuilder()
                           .add(request(0, 100, 1))
                           .add(request(1, 200, 0))
                           .end(EventKind::free, 0)
                           .add(request(2, 300, 7))
                           .build();
    const PoolPlans plans = pool_plans(trace, PlanScope::everything).value();
    REQUIRE(plans.size() == 1);
    const std::vector<PlannedAllocation>& all = plans.at({0, PoolId::default_pool});
    REQUIRE(all.size() == 3);
    CHECK(all[0].end == 2);
    CHECK(all[1].size == 200);
    CHECK(all[2].begin == 3);
    CHECK(pool_plans(trace, PlanScope::nothing)->empty());
}

TEST_CASE("recorded CUDA graphs need no more planned than bumped, and keep to their plan") {
    const auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/torch/graphs.pickle.xz");
    REQUIRE(trace);
    const auto private_peak = [&](std::string_view policy) {
        const Result<Run> done = run(**trace, {.policy = std::string(policy), .check = true});
        REQUIRE(done);
        INFO(policy);
        CHECK(done->hazard_count == 0);
        CHECK(done->measurement("out_of_memory").whole == 0);
        CHECK(done->measurement("plan_departures").whole == 0);
        return done->measurement("private_reserved_peak_bytes").whole;
    };
    const Result<PoolPlans> plans = pool_plans(**trace, PlanScope::private_pools);
    REQUIRE(plans);
    REQUIRE(plans->size() == 1);
    const Result<Plan> plan =
        plan_offsets(plans->begin()->second, {}, {.escapes = EscapeRule::after});
    REQUIRE(plan);
    const Bytes bump = private_peak("arena:mode=bump");
    const Bytes apart = private_peak("arena:mode=planned");
    const Bytes after = private_peak("arena:mode=planned,escapes=after");
    const Bytes torch = private_peak("torch");
    CHECK(bump == align_up(plan->volume, 2_MiB));
    CHECK(apart <= bump);
    CHECK(after <= apart);
    CHECK(after <= torch);
    CHECK(after >= plan->lower_bound);
    CHECK(after - plan->lower_bound < 2_MiB);
}

}  // namespace
}  // namespace tidemark
