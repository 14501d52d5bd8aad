// StepOrder: what lives when is the same in a replay as in the trace, however streams are held up.
#include "replay/tiers/step_order.h"

#include <catch2/catch.hpp>

#include "backends/machines/machine_json.h"
#include "replay/tiers/tier_run.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

using namespace tidemark;
using support::TraceBuilder;
using Steps = std::vector<std::uint32_t>;

namespace {

Steps needs(const StepOrder& order, std::uint32_t step) {
    const std::span<const std::uint32_t> found = order.needs(step);
    return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("uses wait for births, ends for uses, births for ends, across streams only",
          "[tiers][replay]") {
    const StreamId side{1};
    TraceInfo info;
    info.streams = {0, 7};
    TraceBuilder builder;
    builder.allocate(0, 64);                                                       // 0
    builder.add({.slot = 0, .aux = 1, .kind = EventKind::use, .flags = kWrites});  // 1
    builder.add({.slot = 0, .stream = side, .aux = 2, .kind = EventKind::use, .flags = kReads});
    builder.add({.slot = 0, .stream = side, .aux = 3, .kind = EventKind::use, .flags = kReads});
    builder.free(0);                     // 4
    builder.allocate(0, 32, 0, 1);       // 5
    builder.end(EventKind::free, 0, 1);  // 6
    const auto program = make_tier_program(builder.build(info));
    REQUIRE(program);
    REQUIRE(program->steps.size() == 7);

    const StepOrder order(*program);

    CHECK(needs(order, 0).empty());
    CHECK(needs(order, 1).empty());
    CHECK(needs(order, 2) == Steps{0});
    CHECK(needs(order, 3) == Steps{0});
    CHECK(needs(order, 4) == Steps{3});  // the stream's last use
    CHECK(needs(order, 5) == Steps{4});  // the number is taken again
    CHECK(needs(order, 6).empty());
}

TEST_CASE("programs of several streams keep their buffers' lives however little memory there is",
          "[tiers][replay]") {
    const auto machine = open_machine("h200-node");
    REQUIRE(machine);
    for (const char* path :
         {TIDEMARK_SOURCE_DIR "/traces/samples/torch/multistream.pickle.xz",
          TIDEMARK_SOURCE_DIR "/traces/samples/torch/graphs.pickle.xz",
          "generate:query:tasks=50,streams=7", "generate:mix:events=20000,streams=5"}) {
        const auto trace = open_trace(path);
        REQUIRE(trace);
        const auto program = make_tier_program(**trace);
        REQUIRE(program);
        for (const double share : {1.0, 0.6, 0.2}) {
            for (const char* spill : {"lru", "learned", "belady"}) {
                TierScenario scenario;
                scenario.spill = spill;
                scenario.gpu_fraction = share;
                const auto run = run_tiers(*program, *machine, scenario);
                INFO(path << " " << share << " " << spill);
                REQUIRE(run);
                CHECK(run->slowdown() >= 1);
            }
        }
    }
}

TEST_CASE("a cancelled replay gives everything back, wherever it is", "[tiers][replay]") {
    const auto machine = open_machine("h200-node");
    REQUIRE(machine);
    for (const char* path :
         {"generate:query:tasks=200,streams=7", "generate:mix:events=20000,streams=5"}) {
        const auto trace = open_trace(path);
        REQUIRE(trace);
        const auto program = make_tier_program(**trace);
        REQUIRE(program);
        for (int last = 0; last < 12; ++last) {
            TierScenario scenario;
            scenario.spill = "lru";
            scenario.gpu_fraction = 0.2;
            int calls = 0;
            const auto run = run_tiers(*program, *machine, scenario,
                                       {.cancelled = [&] { return calls++ == last; }});
            INFO(path << " " << last);
            if (calls <= last)
                CHECK(run);  // it was over before
            else
                CHECK(run.error().code == ErrorCode::cancelled);
        }
    }
}
