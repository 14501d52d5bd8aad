// run_tiers: virtual time, stalls and bytes of programs small enough to be counted by hand.
#include "tests/replay/tiers/programs.h"

using namespace tidemark;
using support::kReadWrite;
using support::run_on;
using support::small_machine;
using support::TierTrace;

namespace {

// Writes a and b, which don't fit together, then reads a.
TierProgram two_that_do_not_fit() {
    return TierTrace()
        .allocate(0, 0, 100)
        .use(10, 0, kWrites, 1)
        .allocate(20, 1, 100)
        .use(30, 1, kWrites, 2)
        .use(40, 0, kReads, 3)
        .until(50)
        .program();
}

}  // namespace

TEST_CASE("with memory for all nothing moves and nothing stalls", "[tiers][run]") {
    const TierRun run = run_on(two_that_do_not_fit(), small_machine(200));

    CHECK(run.makespan == 50);
    CHECK(run.unlimited == 50);
    CHECK(run.slowdown() == 1.0);
    CHECK(run.spilled_bytes + run.fetched_bytes == 0);
    CHECK(run.stalls.total() == 0);
    CHECK(run.hit_ratio() == 1.0);
}

TEST_CASE("an eviction and a fetch stall the stream for their copies", "[tiers][run]") {
    const TierRun run = run_on(two_that_do_not_fit(), small_machine(100));

    // At 20 a leaves (100 ns), so b comes at 120; at 140 b leaves, at 240 a's copy begins.
    CHECK(run.stalls.room == 200);
    CHECK(run.stalls.fetch == 100);
    CHECK(run.makespan == 350);
    CHECK(run.spilled_bytes == 200);
    CHECK(run.fetched_bytes == 100);
    CHECK(run.used_bytes == 300);
    CHECK(run.hit_bytes == 200);
    CHECK(run.out_of_memory == 0);
}

TEST_CASE("what was not written since its last copy leaves for free", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100).use(10, 0, kWrites, 1).allocate(20, 1, 100).use(30, 1, kWrites, 2);
    trace.use(40, 0, kReads, 3).use(50, 1, kReads, 4).use(60, 0, kReads, 5).until(70);

    const TierRun kept = run_on(trace.program(), small_machine(100));
    CHECK(kept.spilled_bytes == 200);  // each once
    CHECK(kept.fetched_bytes == 300);
    CHECK(kept.dropped_bytes == 200);

    TierScenario scenario;
    scenario.keep_copies = false;
    const TierRun given_up = run_on(trace.program(), small_machine(100), scenario);
    CHECK(given_up.spilled_bytes == 400);
    CHECK(given_up.dropped_bytes == 0);
}

TEST_CASE("what was written again is copied out again", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100).use(10, 0, kWrites, 1).allocate(20, 1, 100).use(30, 1, kWrites, 2);
    trace.use(40, 0, kReadWrite, 3).use(50, 1, kReads, 4).until(60);

    CHECK(run_on(trace.program(), small_machine(100)).spilled_bytes == 300);
}

TEST_CASE("content that nobody wrote is not copied", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100).allocate(10, 1, 100).use(20, 1, kWrites, 1).use(30, 0, kWrites, 2);
    const TierRun run = run_on(trace.until(40).program(), small_machine(100));

    CHECK(run.spilled_bytes == 100);  // only the one that had been written
    CHECK(run.fetched_bytes == 0);
}

TEST_CASE("a whole overwrite needs room, not content", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100).use(10, 0, kWrites, 1).allocate(20, 1, 100).use(30, 1, kWrites, 2);
    const TierRun run =
        run_on(trace.use(40, 0, kWrites, 3).until(50).program(), small_machine(100));

    CHECK(run.fetched_bytes == 0);
    CHECK(run.spilled_bytes == 200);
}

TEST_CASE("a kernel that can never fit is refused, and the rest goes on", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 80).allocate(0, 1, 80).use(10, 0, kWrites, 1).use(11, 1, kWrites, 1);
    const TierRun run = run_on(trace.use(20, 0, kReads, 2).until(30).program(), small_machine(100));

    CHECK(run.out_of_memory == 1);
    REQUIRE(run.refusals.size() == 1);
    CHECK(run.refusals[0].find("kernel 1") != std::string::npos);
    CHECK(run.kernels == 1);
    CHECK(run.kernels_not_run == 1);
}

TEST_CASE("what is refused isn't used", "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 100).allocate(0, 0, 50).use(10, 0, kWrites, 1);
    trace.allocate(20, 1, 200).use(30, 1, kWrites, 2).use(40, 0, kReads, 3).use(40, 1, kReads, 3);
    trace.free(50, 1).use(60, 0, kReads, 4).until(70);
    TierScenario scenario;
    scenario.over_reservation = OverReservationMode::fail;
    const TierRun run = run_on(trace.program(), small_machine(1000), scenario);

    CHECK(run.out_of_memory == 1);
    CHECK(run.kernels == 2);
    CHECK(run.kernels_not_run == 2);
    CHECK(run.used_bytes == 100);
    CHECK(run.spaces.at(0).peak == 100);
}

TEST_CASE("a reservation of several tiers is granted in the first that has the room",
          "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 80, 0).reserve(10, 2, 50, 1, kOrHost);
    trace.allocate(15, 0, 40, 1, kTierHost).use(20, 0, kWrites, 1, 1);
    trace.release(30, 2, 1).release(40, 1, 0);
    const TierRun run = run_on(trace.program(), small_machine(100));

    CHECK(run.reservations.requested == 2);
    CHECK(run.reservations.refused == 0);
    CHECK(run.reservations.waited == 0);

    TierTrace alone;
    alone.reserve(0, 1, 80, 0).reserve(10, 2, 50, 1);
    alone.release(30, 1, 0).release(40, 2, 1);
    CHECK(run_on(alone.program(), small_machine(100)).reservations.waited == 1);
}

TEST_CASE("a reservation grows by what is missing, padded, or beyond its limit", "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 100).allocate(0, 0, 50).use(10, 0, kWrites, 1);
    trace.allocate(20, 1, 200).use(30, 1, kWrites, 2).until(70);
    const auto peak_of = [&](double padding, double limit, bool beyond) {
        TierScenario scenario;
        scenario.over_reservation = OverReservationMode::increase;
        scenario.padding = padding;
        scenario.reservation_limit = limit;
        scenario.beyond_limit = beyond;
        const TierRun run = run_on(trace.program(), small_machine(1000), scenario);
        return run.out_of_memory > 0 ? Bytes{0} : run.spaces.at(0).peak;
    };
    CHECK(peak_of(1, 0, false) == 250);
    CHECK(peak_of(2, 0, false) == 400);
    CHECK(peak_of(2, 0.3, false) == 250);  // by what is missing alone
    CHECK(peak_of(2, 0.2, false) == 200);  // when the first has left
    CHECK(peak_of(2, 0.15, false) == 0);
    CHECK(peak_of(2, 0.15, true) == 250);
}

TEST_CASE("host memory is reserved as a GPU's is, and pays for what is allocated there",
          "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 80, 0, kTierHost).allocate(5, 0, 60, 0, kTierHost);
    trace.reserve(20, 2, 50, 1, kTierHost);
    trace.free(100, 0).release(110, 1).release(150, 2, 1);
    const TierRun run = run_on(trace.program(), small_machine(100, 100));

    CHECK(run.reservations.requested == 2);
    CHECK(run.reservations.waited == 1);
    CHECK(run.stalls.reservation == 90);
    CHECK(run.out_of_memory == 0);
    CHECK(run.spaces.at(1).peak == 80);
}

TEST_CASE("a move goes where it is sent, also while another is on its way", "[tiers][run]") {
    const auto bytes = [](const TierRun& run, Tier source, Tier target) {
        Bytes sum = 0;
        for (const TierLinkUse& link : run.links)
            if (link.source.tier == source && link.target.tier == target)
                sum += link.bytes;
        return sum;
    };
    for (const Nanoseconds second : {30, 500}) {  // the first takes 100 ns
        TierTrace trace;
        trace.allocate(0, 0, 100).use(10, 0, kWrites, 1);
        trace.move(20, 0, kTierHost).move(second, 0, kTierDisk);
        const TierRun run = run_on(trace.until(2000).program(), small_machine(200, 200, 200));
        CHECK(bytes(run, Tier::gpu, Tier::host) == 100);
        CHECK(bytes(run, Tier::host, Tier::disk) == 100);
    }
    TierTrace trace;
    trace.allocate(0, 0, 100).use(10, 0, kWrites, 1).move(20, 0, kTierDisk).move(1000, 0, 0);
    const TierRun run =
        run_on(trace.use(3000, 0, kReads, 2).until(3100).program(), small_machine(200, 200, 200));
    CHECK(run.fetched_bytes == 100);
    CHECK(run.stalls.total() == 0);
}

TEST_CASE("small buffers that hold much leave rather than what is always used", "[tiers][run]") {
    // A GPU of 4 MiB: less than 256 bytes are small.
    constexpr std::uint32_t kBlocks = 24'000;
    TierTrace trace;
    trace.allocate(0, kBlocks, 1_MiB).use(1, kBlocks, kWrites, 1);
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
        trace.allocate(10 + block, block, 200);
        trace.use(10 + block, kBlocks, kReads, block + 2);
        trace.use(10 + block, block, kWrites, block + 2);
    }
    const TierRun run = run_on(trace.until(kBlocks + 20).program(), small_machine(4_MiB));
    CHECK(run.out_of_memory == 0);
    CHECK(run.spilled_bytes > 0);
    CHECK(run.fetched_bytes == 0);
}

TEST_CASE("a full host moves what it holds to the disk", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100).use(10, 0, kWrites, 1).allocate(20, 1, 100).use(30, 1, kWrites, 2);
    trace.allocate(40, 2, 100).use(50, 2, kWrites, 3).use(60, 0, kReads, 4).until(70);
    const TierRun run = run_on(trace.program(), small_machine(100, 100, 1000));

    Bytes to_disk = 0;
    for (const TierLinkUse& link : run.links)
        to_disk += link.target.tier == Tier::disk ? link.bytes : 0;
    CHECK(to_disk >= 100);
    CHECK(run.out_of_memory == 0);
    for (const TierSpacePeak& space : run.spaces)
        CHECK(space.peak <= space.capacity);
}

TEST_CASE("without room below a buffer stays and the request is refused", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100).use(10, 0, kWrites, 1).allocate(20, 1, 100).use(30, 1, kWrites, 2);
    const TierRun run = run_on(trace.until(40).program(), small_machine(100, 50));

    CHECK(run.out_of_memory == 1);
    CHECK(run.kernels_not_run == 1);  // which uses it
    CHECK(run.spilled_bytes == 0);
}

TEST_CASE("reservations wait in fair order until they fit", "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 80, 0).allocate(5, 0, 80, 0).use(10, 0, kWrites, 1, 0);
    trace.reserve(20, 2, 50, 1).allocate(30, 1, 50, 1).use(40, 1, kWrites, 2, 1);
    trace.free(100, 0, 0).release(110, 1, 0).release(120, 2, 1);
    const TierRun run = run_on(trace.program(), small_machine(100));

    CHECK(run.reservations.requested == 2);
    CHECK(run.reservations.waited == 1);
    CHECK(run.reservations.max == 90);  // from 20 until the release at 110
    CHECK(run.stalls.reservation == 90);
    CHECK(run.spilled_bytes == 0);  // what is reserved never leaves for others
    CHECK(run.out_of_memory == 0);
}

TEST_CASE("a reservation takes the place of what is merely resident", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 80, 0).use(10, 0, kWrites, 1, 0).until(15, 0);
    trace.reserve(20, 2, 50, 1).allocate(30, 1, 50, 1).use(40, 1, kWrites, 2, 1).release(50, 2, 1);
    const TierRun run = run_on(trace.program(), small_machine(100));

    CHECK(run.reservations.waited == 1);  // until its copy has left
    CHECK(run.stalls.reservation == 80);
    CHECK(run.spilled_bytes == 80);
}

TEST_CASE("reservations that wait for each other are found and told", "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 60, 0).reserve(0, 2, 40, 1);
    trace.reserve(10, 3, 60, 0).reserve(10, 4, 40, 1);
    trace.release(20, 3, 0).release(20, 1, 0).release(20, 4, 1).release(20, 2, 1);
    const TierRun run = run_on(trace.program(), small_machine(100));

    CHECK(run.deadlocks >= 1);
    CHECK(run.reservations.refused >= 1);
    REQUIRE_FALSE(run.refusals.empty());
    CHECK(run.refusals[0].find("wait for") != std::string::npos);
}

TEST_CASE("over-reservation policies", "[tiers][run]") {
    TierTrace trace;
    trace.reserve(0, 1, 40, 0).allocate(10, 0, 60, 0).use(20, 0, kWrites, 1, 0);
    const TierProgram program = trace.free(30, 0, 0).release(40, 1, 0).program();
    TierScenario scenario;

    scenario.over_reservation = OverReservationMode::ignore;
    CHECK(run_on(program, small_machine(100), scenario).out_of_memory == 0);
    scenario.over_reservation = OverReservationMode::increase;
    CHECK(run_on(program, small_machine(100), scenario).out_of_memory == 0);
    scenario.over_reservation = OverReservationMode::fail;
    CHECK(run_on(program, small_machine(100), scenario).out_of_memory == 1);
}

TEST_CASE("a stall pushes its own stream and whoever waits for it", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 100, 0).use(10, 0, kWrites, 1, 0).allocate(20, 1, 100, 0);
    trace.use(30, 1, kWrites, 2, 0).event(40, EventKind::record_event, 0, 0);
    trace.event(45, EventKind::wait_event, 0, 1).until(50, 1).until(50, 2);
    const TierRun run = run_on(trace.program(), small_machine(100));

    // Stream 0 stalls for 100 at 20; its event is reached at 140, stream 1 goes on 5 later.
    CHECK(run.makespan == 145);
    CHECK(run.unlimited == 50);
}

TEST_CASE("the last kernel of a stream holds up no other stream", "[tiers][run]") {
    constexpr std::uint8_t kBoth = kReads | kWrites;
    TierTrace trace;
    trace.allocate(0, 0, 30, 0).allocate(0, 1, 30, 0);
    trace.use(10, 0, kBoth, 1, 1).use(10, 1, kBoth, 1, 1);  // and then nothing
    trace.use(20, 1, kBoth, 2, 0).use(20, 0, kBoth, 2, 0).free(30, 0, 0).free(30, 1, 0).until(40);
    const TierRun run = run_on(trace.program(), small_machine(60));

    CHECK(run.kernels == 2);
    CHECK(run.out_of_memory == 0);
    CHECK(run.makespan == 40);
}

TEST_CASE("a buffer is freed while another stream uses it", "[tiers][run]") {
    TierTrace trace;
    trace.allocate(0, 0, 50, 0).use(10, 0, kReads | kWrites, 1, 1);
    trace.use(20, 0, kReads | kWrites, 2, 2).free(30, 0, 0).until(100, 1).until(100, 2);
    const TierRun run = run_on(trace.program(), small_machine(100));

    // The second kernel waits for the first one's end at 100; its stream has 80 before it.
    CHECK(run.kernels == 2);
    CHECK(run.makespan == 180);
}

TEST_CASE("the same inputs give the same run, timeline and all", "[tiers][run]") {
    TierScenario scenario;
    scenario.timeline = true;
    const TierRun one = run_on(two_that_do_not_fit(), small_machine(100), scenario);
    const TierRun two = run_on(two_that_do_not_fit(), small_machine(100), scenario);

    REQUIRE(one.timeline.size() == two.timeline.size());
    REQUIRE_FALSE(one.timeline.empty());
    for (std::size_t i = 0; i < one.timeline.size(); ++i) {
        CHECK(one.timeline[i].begin == two.timeline[i].begin);
        CHECK(one.timeline[i].end >= one.timeline[i].begin);
    }
    CHECK(one.makespan == two.makespan);
}

TEST_CASE("spilling in the background begins and ends at its thresholds", "[tiers][run]") {
    TierTrace trace;
    for (std::uint32_t i = 0; i < 9; ++i)
        trace.allocate(10 * i, i, 10).use(10 * i + 5, i, kWrites, i);
    TierScenario scenario;
    scenario.spill_start = 0.8;
    scenario.spill_stop = 0.5;
    const TierRun run = run_on(trace.until(2000).program(), small_machine(100), scenario);

    CHECK(run.spilled_bytes == 40);  // from 90 used down to 50
    CHECK(run.stalls.total() == 0);
}

TEST_CASE("a device that the machine lacks is an error that says which", "[tiers][run]") {
    TierProgram program = two_that_do_not_fit();
    program.devices = 2;
    const auto run = run_tiers(program, small_machine(100), {});
    REQUIRE_FALSE(run);
    CHECK(run.error().what.find("gpu:1") != std::string::npos);
}

TEST_CASE("links that share a bus add up to its bandwidth", "[tiers][links]") {
    MachineSpec machine = small_machine(100);
    machine.buses = {{"shared", 1e9}};
    machine.links[0].bus = "shared";
    machine.links[1].bus = "shared";

    const TierRun run = run_on(two_that_do_not_fit(), machine);
    CHECK(run.makespan == 350);  // one after another as it is: no more, and no less
    CHECK(run.stalls.total() == 300);
}
