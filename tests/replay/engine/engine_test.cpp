// ReplayEngine: every event once, outcomes exact, oddities counted, refusals told.
#include "replay/engine/engine.h"

#include <catch2/catch.hpp>

#include "backends/wrap/scripted.h"
#include "core/allocator/spec.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;

namespace {

// Keeps everything it is told.
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
            lanes.push_back({devices.back().get(), allocators.back().get(), nullptr});
        }
    }

    ReplaySummary run(const TraceBuilder& trace, const ReplayLimits& limits = {}) {
        Observer* const observers[] = {&recorder};
        TraceInfo info;
        info.devices.resize(lanes.size());
        const auto built = trace.build(std::move(info));
        const auto cursor = built.cursor();
        const auto summary = ReplayEngine(lanes, observers).run(built.info(), *cursor, limits);
        REQUIRE(summary);
        return *summary;
    }

    std::vector<std::unique_ptr<ScriptedDevice>> devices;
    std::vector<std::unique_ptr<Allocator>> allocators;
    std::vector<Lane> lanes;
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
