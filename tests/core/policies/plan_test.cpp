// plan: requests that come as planned, and those that don't; by hand, and against any program.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "core/base/random.h"
#include "core/policies/plan_rows.h"
#include "tests/support/policy.h"
#include "tests/support/program_run.h"
#include "tests/support/property.h"
#include "tests/support/test_folder.h"

namespace tidemark {
namespace {

using policies::PlanRows;
using support::must_allocate;
using support::Program;
using support::ProgramRun;
using support::Step;

// A request of `size` that is live from `begin` to before `end`.
PlannedAllocation life(Bytes size, std::uint32_t begin, std::uint32_t end) {
    return {.size = size, .begin = begin, .end = end};
}

// A and B live at once, C takes A's bytes, D (over both) comes when all are gone. 3 MiB high.
std::string plan_file(const support::TestFolder& folder) {
    return folder.write("plan.csv",
                        "id,lower,upper,size,offset\n"
                        "A,0,2,1048576,0\n"
                        "B,1,4,2097152,1048576\n"
                        "C,3,5,1048576,0\n"
                        "D,6,7,3145728,0\n");
}

struct Planned {
    support::TestFolder folder;
    SimDevice device{support::small_device(64_MiB)};
    std::unique_ptr<Allocator> policy =
        support::make_policy("plan:file=" + plan_file(folder), device);

    Bytes reserved() const { return policy->usage().reserved; }

    std::uint64_t deviations() const { return policy->stats().plan_deviations; }
};

TEST_CASE("plan serves a run that repeats itself from one segment as high as the packing",
          "[plan]") {
    Planned run;

    const Allocation a = must_allocate(*run.policy, 1_MiB);
    const Allocation b = must_allocate(*run.policy, 2_MiB);
    run.policy->deallocate(a, StreamId{0});
    const Allocation c = must_allocate(*run.policy, 1_MiB - 100);
    CHECK(b.address == a.address + 1_MiB);
    CHECK(c.address == a.address);
    CHECK(c.size == 1_MiB);
    run.policy->deallocate(b, StreamId{0});
    run.policy->deallocate(c, StreamId{0});
    CHECK(must_allocate(*run.policy, 3_MiB).address == a.address);

    CHECK(run.reserved() == 4_MiB);  // in pages of 2 MiB
    CHECK(run.policy->stats().segments_created == 1);
    CHECK(run.deviations() == 0);
}

TEST_CASE("plan serves what comes otherwise from a pool of its own, and counts it", "[plan]") {
    Planned run;

    const Allocation a = must_allocate(*run.policy, 1_MiB);
    const Allocation other = must_allocate(*run.policy, 5_MiB);  // nowhere in the plan
    CHECK(run.deviations() == 1);
    CHECK(run.reserved() == 4_MiB + 32_MiB);
    CHECK(must_allocate(*run.policy, 2_MiB).address == a.address + 1_MiB);  // it goes on
    const Allocation kept = must_allocate(*run.policy, 1_MiB);  // C, where A still lives
    CHECK(run.deviations() == 2);
    CHECK(kept.address == other.address + 5_MiB);
}

TEST_CASE("plan finds the rows of what was left out, exchanged, or put in", "[plan]") {
    Planned run;
    SECTION("A is left out: B has its own row, and so has C") {
        const Allocation b = must_allocate(*run.policy, 2_MiB);
        const Allocation c = must_allocate(*run.policy, 1_MiB);
        CHECK(b.address == c.address + 1_MiB);
        CHECK(run.deviations() == 0);
    }
    SECTION("B comes before A") {
        const Allocation b = must_allocate(*run.policy, 2_MiB);
        const Allocation a = must_allocate(*run.policy, 1_MiB);
        CHECK(b.address == a.address + 1_MiB);
        CHECK(run.deviations() == 0);
    }
    SECTION("D comes first: A, B and C, whose bytes it has, are over") {
        const Allocation d = must_allocate(*run.policy, 3_MiB);
        run.policy->deallocate(d, StreamId{0});
        CHECK(must_allocate(*run.policy, 1_MiB).address != d.address);
        CHECK(run.deviations() == 1);
    }
}

TEST_CASE("plan puts a stream behind those that had its bytes before", "[plan]") {
    Planned run;

    const Allocation a = must_allocate(*run.policy, 1_MiB, StreamId{1});
    run.policy->record_use(a, StreamId{2});
    run.policy->deallocate(a, StreamId{1});
    CHECK(must_allocate(*run.policy, 2_MiB, StreamId{3}).address == a.address + 1_MiB);
    CHECK(support::calls(run.device, DeviceCall::wait) == 0);
    CHECK(must_allocate(*run.policy, 1_MiB, StreamId{3}).address == a.address);
    CHECK(support::calls(run.device, DeviceCall::wait) == 2);
}

TEST_CASE("plan does without its segment where the device has no room for it", "[plan]") {
    Planned run;
    const auto most = support::make_policy("best-fit:segment=61MiB", run.device);
    must_allocate(*most, 61_MiB);

    CHECK(run.policy->allocate({.size = 1_MiB}).has_value());
    CHECK(run.reserved() == 2_MiB);
    CHECK(run.deviations() == 1);
}

TEST_CASE("plan makes its own of requests that it is told", "[plan]") {
    SimDevice device(support::small_device(64_MiB));
    const auto policy = support::make_policy("plan", device);
    const std::vector<PlannedAllocation> expected{life(4_MiB, 0, 2), life(2_MiB, 1, 6),
                                                  life(2_MiB, 3, 5), life(2_MiB, 4, 7)};
    policy->plan_pool(PoolId::default_pool, expected);

    const Allocation first = must_allocate(*policy, 4_MiB);
    must_allocate(*policy, 2_MiB);
    policy->deallocate(first, StreamId{0});
    must_allocate(*policy, 2_MiB);
    must_allocate(*policy, 2_MiB);
    CHECK(policy->usage().reserved == 6_MiB);
    CHECK(policy->stats().plan_deviations == 0);
}

TEST_CASE("a plan that cannot be is refused, and says why", "[plan]") {
    const support::TestFolder folder;
    SimDevice device(support::small_device(64_MiB));
    const auto refusal = [&](std::string_view rows) {
        const std::string path = folder.write("bad.csv", rows);
        const auto made = parse_policy("plan:file=" + path)->make(device);
        REQUIRE_FALSE(made);
        CHECK(made.error().where.starts_with(path));
        return made.error().what;
    };
    const std::string titles = "lower,upper,size,offset\n";
    CHECK(refusal("lower,upper\n") == "no header row");
    CHECK(refusal("lower,upper,size\n0,1,512\n") == "there is no column `offset`");
    CHECK(refusal(titles + "0,1,512\n") == "differs from the header row");
    CHECK(refusal(titles + "0,1,512,-1\n") == "its offset is not a number");
    CHECK(refusal(titles + "0,1,100,0\n") == "100 bytes at 0 are not multiples of 256");
    CHECK(refusal(titles + "0,1,0,0\n") == "0 bytes at 0 are not multiples of 256");
    CHECK(refusal(titles + "0,1,512,18446744073709551360\n") ==
          "512 bytes at 18446744073709551360 are more than any device has");
    CHECK(refusal(titles + "0,3,512,256\n5,6,512,0\n2,4,512,512\n") ==
          "rows 1 and 3 are live at the same time and share bytes");
    CHECK(parse_policy("plan:file=/nowhere/plan.csv")->make(device).error().code ==
          ErrorCode::not_found);
}

// Whatever a plan says, right or wrong: of the program's own sizes, with lives at random.
std::vector<PlannedAllocation> some_plan(const Program& program, Random& random) {
    std::vector<PlannedAllocation> plan;
    for (const Step& step : program) {
        const auto add = [&](Bytes size) {
            const auto begin = static_cast<std::uint32_t>(2 * plan.size());
            plan.push_back(life(size, begin, begin + 1 + std::uint32_t(random.below(24))));
        };
        if (step.kind == Step::Kind::allocate && step.size < 16_MiB && random.below(8) != 0)
            add(step.size);
        if (random.below(8) == 0)
            add(1 + random.below(1_MiB));
    }
    return plan;
}

TEST_CASE("plan keeps every allocator's promises whatever the plan says", "[plan][property]") {
    std::uint64_t planned = 0;
    std::uint64_t programs = 0;
    const std::string failure = support::counterexample(support::effort(300), [&] {
        const Program program = *support::programs(2.0);
        const auto seed = *rc::gen::arbitrary<std::uint64_t>();
        const int fault = *rc::gen::inRange(0, 40);
        support::RunSetup setup{
            .policy = "plan:segment=2MiB", .device = support::small_device(256_MiB), .faults = {}};
        if (fault > 0)
            setup.faults.nth = static_cast<std::uint64_t>(fault);
        ProgramRun run(setup);
        Random random(seed);
        run.allocator().plan_pool(PoolId::default_pool, some_plan(program, random));
        for (const std::string& complaint : {run.run(program), run.finish()})
            if (!complaint.empty())
                RC_FAIL(complaint);
        ++programs;
        const AllocatorStats& stats = run.allocator().stats();
        std::uint64_t requested = 0;
        for (const Step& step : program)
            requested += step.kind == Step::Kind::allocate && step.size != 0 ? 1U : 0U;
        planned += requested - std::min(requested, stats.plan_deviations);
    });
    INFO(failure);
    CHECK(failure.empty());
    CHECK(planned > programs);  // else little was tried
}

TEST_CASE("a large row over many small ones is given when all are gone", "[plan]") {
    constexpr std::uint32_t kSmall = 1000;
    std::vector<Interval> intervals;
    std::vector<Bytes> offsets;
    for (std::uint32_t i = 0; i < kSmall; ++i) {
        intervals.push_back({.begin = i, .end = kSmall, .size = 512});
        offsets.push_back(i * Bytes{512});
    }
    intervals.push_back({.begin = kSmall, .end = kSmall + 1, .size = kSmall * Bytes{512}});
    offsets.push_back(0);
    PlanRows rows = PlanRows::of(intervals, offsets).value();
    for (std::uint32_t i = 0; i < kSmall; ++i) {
        const auto found = rows.find(512, 1);
        REQUIRE(found);
        rows.take(found->row, StreamId{0});
    }
    rows.let_go(0);
    CHECK_FALSE(rows.find(kSmall * Bytes{512}, 1));
    for (std::uint32_t i = 1; i < kSmall; ++i)
        rows.let_go(i);
    CHECK(rows.find(kSmall * Bytes{512}, 1));
}

}  // namespace
}  // namespace tidemark
