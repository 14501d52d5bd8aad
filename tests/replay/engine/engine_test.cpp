// ReplayEngine: every event once, outcomes exact, oddities counted, refusals reported.
#include "replay/engine/engine.h"

#include <utility>

#include <catch2/catch.hpp>

#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;

namespace {

// Keeps everything it is given.
class Recorder final : public Observer {
  public:
    void on_events(const EventBatch& events, const OutcomeBatch& outcomes) override {
        CHECK(outcomes.first_event == kinds.size());
        for (std::size_t i = 0; i < events.count; ++i) {
            kinds.push_back(events.kind[i]);
            usages.push_back(outcomes.usage[i]);
            requested.push_back(outcomes.requested[i]);
            granted.push_back(outcomes.granted[i]);
        }
    }

    void on_refusal(const Refusal& refusal) override { refusals.push_back(refusal); }

    void on_sample(const Sample& sample) override { samples.push_back(sample); }

    void on_end(Nanoseconds /*time*/) override { ++ends; }

    std::vector<EventKind> kinds;
    std::vector<Usage> usages;
    std::vector<Bytes> requested;
    std::vector<Address> granted;
    std::vector<Refusal> refusals;
    std::vector<Sample> samples;
    int ends = 0;
};

struct Fixture {
    explicit Fixture(const std::string& policy, Bytes capacity = 1_GiB, std::size_t count = 1) {
        for (std::size_t i = 0; i < count; ++i) {
            devices.push_back(std::make_unique<ScriptedDevice>(capacity));
            allocators.push_back(*parse_policy(policy)->make(*devices.back()));
            contexts.push_back({devices.back().get(), allocators.back().get(), nullptr});
        }
    }

    ReplaySummary run(const TraceBuilder& trace, const ReplayLimits& limits = {}) {
        Observer* const observers[] = {&recorder};
        TraceInfo info;
        info.devices.resize(contexts.size());
        const auto built = trace.build(std::move(info));
        const auto cursor = built.cursor();
        const auto summary = ReplayEngine(contexts, observers).run(built.info(), *cursor, limits);
        REQUIRE(summary);
        return *summary;
    }

    std::vector<std::unique_ptr<ScriptedDevice>> devices;
    std::vector<std::unique_ptr<Allocator>> allocators;
    std::vector<DeviceContext> contexts;
    Recorder recorder;
};

}  // namespace

TEST_CASE("the engine tells the usage after each event", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 100).allocate(1, 1000).free(0).end(EventKind::retire, 1);
    trace.end(EventKind::finish, 1);
    Fixture torch("torch");

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.events == 5);
    CHECK(summary.replayed == 5);
    CHECK(summary.live_at_end == 0);
    const Recorder& seen = torch.recorder;
    REQUIRE(seen.usages.size() == 5);
    CHECK(seen.usages[0].allocated == 512);
    CHECK(seen.usages[1].allocated == 1536);
    CHECK(seen.usages[2].allocated == 1024);
    CHECK(seen.usages[3].allocated == 0);
    CHECK(seen.usages[3].active == 1024);
    CHECK(seen.usages[4].active == 0);
    CHECK(seen.requested == std::vector<Bytes>{100, 1100, 1000, 1000, 0});
    CHECK(seen.granted[1] == seen.granted[0] + 512);
    CHECK(seen.granted[2] == Address::null);
    CHECK(seen.ends == 1);
    CHECK(seen.samples.size() == 1);
}

TEST_CASE("the engine skips the lives of refused requests and counts them", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 600_MiB).allocate(1, 600_MiB).free(1).free(0).allocate(0, 600_MiB);
    Fixture torch("torch");

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.refused == 1);
    CHECK(summary.skipped == 1);
    CHECK(summary.live_at_end == 1);
    REQUIRE(torch.recorder.refusals.size() == 1);
    CHECK(torch.recorder.refusals[0].event == 1);
    CHECK(torch.recorder.refusals[0].why.cause == OutOfMemory::Cause::device_full);
    CHECK(torch.recorder.requested[1] == 1200_MiB);  // the floor doesn't depend on the policy
    CHECK(torch.recorder.requested[2] == 600_MiB);
}

TEST_CASE("a request waits for the device before it is out of memory", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 600_MiB).end(EventKind::retire, 0).allocate(1, 600_MiB);
    trace.end(EventKind::finish, 0).free(1).allocate(0, 600_MiB).free(0);
    Fixture torch("torch");

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.refused == 0);
    CHECK(summary.skipped == 0);
    CHECK(summary.live_at_end == 0);
    CHECK(torch.allocators[0]->stats().retries == 1);
    CHECK(torch.allocators[0]->usage().active == 0);
    CHECK(torch.recorder.usages[2].allocated == 600_MiB);
    // What the program requested doesn't depend on the policy.
    CHECK(torch.recorder.requested ==
          std::vector<Bytes>{600_MiB, 600_MiB, 1200_MiB, 600_MiB, 0, 600_MiB, 0});
}

TEST_CASE("waits that end before a recorded out of memory end for it in vain", "[engine]") {
    // A block that would serve the request, in a segment that another one pins.
    TraceBuilder trace;
    trace.allocate(0, 900_MiB).free(0).allocate(0, 800_MiB).allocate(1, 50_MiB);
    trace.end(EventKind::retire, 0);
    trace.add({.slot = 0, .kind = EventKind::finish, .flags = kInVain});
    trace.segment(EventKind::segment_free, 0, 2_MiB);
    trace.add({.size = 800_MiB, .kind = EventKind::out_of_memory});
    trace.free(1);
    const auto probes = [&trace](const char* policy, bool as_recorded) {
        Fixture fixture(policy);
        ReplayLimits limits;
        limits.as_recorded = as_recorded;
        const ReplaySummary summary = fixture.run(trace, limits);
        CHECK(summary.skipped == 0);
        CHECK(summary.live_at_end == 0);
        return summary.probes_granted;
    };
    CHECK(probes("torch", false) == 0);
    CHECK(probes("torch", true) == 1);
    CHECK(probes("torch:version=2.13", false) == 1);
    CHECK(probes("best-fit", false) == 1);
}

TEST_CASE("emptied caches are empty of what waited too", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 900_MiB).free(0).allocate(0, 800_MiB).allocate(1, 50_MiB);
    trace.end(EventKind::retire, 0);
    trace.add({.size = 800_MiB, .kind = EventKind::out_of_memory});
    trace.end(EventKind::finish, 0).free(1);
    const auto granted = [&trace](std::optional<std::uint64_t> empty_before) {
        Fixture torch("torch");
        ReplayLimits limits;
        limits.empty_before = empty_before;
        const ReplaySummary summary = torch.run(trace, limits);
        CHECK(summary.skipped == 0);
        return summary.probes_granted;
    };
    CHECK(granted({}) == 0);
    CHECK(granted(5) == 1);
}

TEST_CASE("a request waits for no other device than its own", "[engine]") {
    TraceBuilder trace;
    trace.add({.size = 600_MiB, .slot = 0, .device = 1});
    trace.add({.slot = 0, .device = 1, .kind = EventKind::retire});
    trace.add({.size = 600_MiB, .slot = 1, .device = 0});
    trace.add({.size = 600_MiB, .slot = 2, .device = 0});
    trace.add({.slot = 0, .device = 1, .kind = EventKind::finish});
    Fixture torch("torch", 1_GiB, 2);

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.refused == 1);
    CHECK(summary.skipped == 0);
    CHECK(torch.recorder.usages[3].active == 1200_MiB);  // device 1's block still waits
    CHECK(torch.recorder.usages[4].active == 600_MiB);
}

TEST_CASE("the engine stops at the first refusal when asked to", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 600_MiB).allocate(1, 600_MiB).free(1).free(0);
    Fixture torch("torch");
    ReplayLimits limits;
    limits.stop_at_refusal = true;

    const ReplaySummary summary = torch.run(trace, limits);

    CHECK(summary.events == 2);
    CHECK(torch.recorder.kinds.size() == 2);
}

TEST_CASE("the engine survives frees of nothing, double frees and reused slots", "[engine]") {
    TraceBuilder trace;
    trace.end(EventKind::free, kNoSlot).free(3).allocate(0, 100).free(0).free(0);
    trace.allocate(1, 100).allocate(1, 200).allocate(2, kLargestRequest).allocate(kNoSlot, 5);
    trace.end(EventKind::retire, 1).end(EventKind::retire, 1).end(EventKind::finish, 1);
    trace.end(EventKind::record_use, 7, 2);
    Fixture torch("torch");

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.events == 13);
    CHECK(summary.refused == 1);
    CHECK(summary.skipped == 5);  // three frees, the allocation without a slot, the record_use
    CHECK(torch.allocators[0]->usage().active == 0);
}

TEST_CASE("each device of a trace has its own allocator, and usage is their sum", "[engine]") {
    TraceBuilder trace;
    trace.add({.size = 1000, .slot = 0, .device = 0});
    trace.add({.size = 3000, .slot = 1, .device = 1});
    trace.add({.slot = 0, .device = 0, .kind = EventKind::free});
    Fixture torch("torch", 1_GiB, 2);

    torch.run(trace);

    CHECK(torch.recorder.usages[1].allocated == 1024 + 3072);
    CHECK(torch.recorder.usages[1].reserved == 4_MiB);
    CHECK(torch.recorder.usages[2].allocated == 3072);
    CHECK(torch.allocators[0]->usage().allocated == 0);
    CHECK(torch.allocators[1]->usage().allocated == 3072);
}

TEST_CASE("a free that names another device goes to the one that the allocation lives on",
          "[engine]") {
    TraceBuilder trace;
    trace.add({.size = 3000, .slot = 0, .device = 1});
    trace.add({.slot = 0, .device = 0, .kind = EventKind::free});
    Fixture plain("cuda-malloc", 1_GiB, 2);

    plain.run(trace);

    CHECK(plain.recorder.usages[0].reserved == 3072);
    CHECK(plain.recorder.usages[1].reserved == 0);
    CHECK(plain.allocators[1]->usage().allocated == 0);
}

TEST_CASE("truth and ranges pass by the allocator but not by the observers", "[engine]") {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, 1_GiB, 2_MiB);
    trace.add({.kind = EventKind::range_begin}).allocate(0, 1);
    trace.add({.kind = EventKind::range_end});
    Fixture torch("torch");

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.events == 4);
    CHECK(summary.replayed == 1);
    CHECK(torch.recorder.kinds.size() == 4);
}

TEST_CASE("a recorded trim empties the caches", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 1).free(0).add({.kind = EventKind::trim});
    Fixture torch("torch");

    torch.run(trace);

    CHECK(torch.recorder.usages[1].reserved == 2_MiB);
    CHECK(torch.recorder.usages[2].reserved == 0);
}

TEST_CASE("what was refused when recorded is asked again, and let go if granted", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 600_MiB).add({.size = 600_MiB, .kind = EventKind::out_of_memory});
    trace.free(0).add({.size = 700_MiB, .kind = EventKind::out_of_memory});
    trace.add({.size = 900_MiB, .kind = EventKind::out_of_memory});
    Fixture torch("torch");

    const ReplaySummary summary = torch.run(trace);

    CHECK(summary.refused == 0);
    CHECK(summary.refused_again == 1);
    CHECK(summary.live_at_end == 0);
    REQUIRE(torch.recorder.refusals.size() == 1);
    const Refusal& refusal = torch.recorder.refusals[0];
    CHECK(refusal.event == 1);
    CHECK(refusal.what.kind == EventKind::out_of_memory);
    CHECK(refusal.what.size == 600_MiB);
    CHECK(refusal.usage.reserved == 600_MiB);
    CHECK(torch.recorder.usages[3].allocated == 0);
    CHECK(torch.recorder.usages[3].reserved == 700_MiB);  // granted, let go, cached
    CHECK(torch.recorder.usages[4].reserved == 900_MiB);
    CHECK(torch.recorder.requested[3] == 0);  // the program never got it
}

TEST_CASE("a refusal that repeats does not stop a replay until failure", "[engine]") {
    TraceBuilder trace;
    trace.add({.size = 2_GiB, .kind = EventKind::out_of_memory}).allocate(0, 2_GiB).free(0);
    Fixture torch("torch");
    ReplayLimits limits;
    limits.stop_at_refusal = true;

    const ReplaySummary summary = torch.run(trace, limits);

    CHECK(summary.events == 2);
    CHECK(summary.refused_again == 1);
    CHECK(summary.refused == 1);
}

TEST_CASE("a request is asked again in its own pool", "[engine]") {
    TraceBuilder trace;
    trace.allocate(0, 600_MiB).free(0);  // cached, where a retry would find it
    trace.add({.size = 700_MiB, .aux = 1, .kind = EventKind::out_of_memory});
    Fixture torch("torch");

    CHECK(torch.run(trace).refused_again == 1);
    CHECK(torch.allocators[0]->stats().retries == 0);
}

TEST_CASE("a trim that ends a pool closes it, and its flags say what goes back", "[engine]") {
    const auto reserved = [](std::uint8_t flags, std::uint32_t pool) {
        TraceBuilder trace;
        trace.allocate(0, 20_MiB).add({.size = 40_MiB, .slot = 1, .aux = 1}).free(0).free(1);
        trace.add({.aux = pool, .kind = EventKind::trim, .flags = flags});
        trace.add({.kind = EventKind::trim});
        Fixture torch("torch");
        torch.run(trace);
        return std::pair(torch.recorder.usages[4].reserved, torch.recorder.usages[5].reserved);
    };
    using Pair = std::pair<Bytes, Bytes>;

    CHECK(reserved(0, 0) == Pair(40_MiB, 40_MiB));         // caches, not the pool's
    CHECK(reserved(0, 1) == Pair(0, 0));                   // both
    CHECK(reserved(kTrimsNothing, 1) == Pair(60_MiB, 0));  // closed: goes with the next trim
    CHECK(reserved(kTrimsNothing, 0) == Pair(60_MiB, 40_MiB));
    CHECK(reserved(kEndsPool | kTrimsNothing, 1) == Pair(20_MiB, 0));
    CHECK(reserved(kEndsPool | kTrimsNothing, 2) == Pair(60_MiB, 40_MiB));  // another pool
    CHECK(reserved(kEndsPool, 1) == Pair(0, 0));
}

TEST_CASE("scopes of pools reach the allocator", "[engine]") {
    const auto retries = [](bool scoped, bool ended) {
        TraceBuilder trace;
        trace.allocate(0, 600_MiB).free(0);
        if (scoped)
            trace.add({.aux = 1, .kind = EventKind::pool_begin});
        if (ended)
            trace.add({.aux = 1, .kind = EventKind::pool_end});
        trace.allocate(0, 700_MiB);
        Fixture torch("torch");
        const ReplaySummary summary = torch.run(trace);
        CHECK(summary.replayed == trace.events().size());
        CHECK(summary.refused == (scoped && !ended ? 1 : 0));
        return torch.allocators[0]->stats().retries;
    };

    CHECK(retries(false, false) == 1);
    CHECK(retries(true, false) == 0);  // inside a scope nothing is retried
    CHECK(retries(true, true) == 1);
    CHECK(retries(false, true) == 1);
}
