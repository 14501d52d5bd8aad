// infer_missing_events: what verify inferred, as events that a replay follows; nothing else moves.
#include "replay/record/infer_missing_events.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

#include "replay/record/explained_record.h"
#include "replay/scenario/trial.h"
#include "tests/replay/record/addresses.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using addresses::kA;
using addresses::kB;
using addresses::kC;
using addresses::kD;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

TraceInfo snapshot(std::size_t devices = 1) {
    TraceInfo info;
    info.format = "torch-snapshot";
    info.devices.resize(devices);
    info.pools = {"default"};
    return info;
}

struct Explained {
    explicit Explained(const TraceBuilder& trace, TraceInfo info = snapshot())
        : before(trace.events()) {
        auto owned = std::make_unique<VectorTrace>(trace.build(std::move(info)));
        const Trace* const given = owned.get();
        auto explained = infer_missing_events(std::move(owned), {});
        REQUIRE(explained);
        trace_ = std::move(*explained);
        unchanged = trace_.get() == given;
        const auto cursor = trace_->cursor();
        for (auto batch = cursor->next(); batch && batch->count != 0; batch = cursor->next()) {
            for (std::size_t i = 0; i < batch->count; ++i)
                after.push_back((*batch)[i]);
        }
    }

    const TraceInfo& info() const { return trace_->info(); }

    const Trace& trace() const { return *trace_; }

    // Every event is what it was, but for trims in the place of truth and pools of requests.
    void check_rest_untouched() const {
        REQUIRE(after.size() == before.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
            TraceEvent expected = before[i];
            if (is_truth(before[i].kind) && after[i].kind == EventKind::trim) {
                expected.kind = EventKind::trim;
                expected.flags = after[i].flags;
                expected.aux = after[i].aux;
            } else if (before[i].kind == EventKind::allocate) {
                expected.aux = after[i].aux;
            }
            INFO("event " << i << ", " << to_text(before[i].kind));
            CHECK(after[i] == expected);
        }
    }

    std::vector<TraceEvent> before;
    std::vector<TraceEvent> after;
    bool unchanged = false;

  private:
    std::unique_ptr<Trace> trace_;
};

bool warns(const TraceInfo& info, std::string_view part) {
    return std::any_of(info.warnings.begin(), info.warnings.end(), [part](const std::string& text) {
        return text.find(part) != std::string::npos;
    });
}

// Caches emptied before the second segment.
TraceBuilder emptied() {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 30_MiB).allocate(0, 30_MiB, kA).free(0);
    trace.segment(EventKind::segment_free, kA, 30_MiB);
    trace.segment(EventKind::segment_alloc, kB, 40_MiB).allocate(1, 40_MiB, kB);
    return trace;
}

TraceBuilder with_private_pool() {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 12_MiB).allocate(0, 12_MiB, kA).free(0);
    trace.segment(EventKind::segment_alloc, kB, 12_MiB).allocate(1, 12_MiB, kB).free(1);
    trace.segment(EventKind::segment_free, kB, 12_MiB).allocate(2, 12_MiB, kA);
    trace.add({.size = 12_MiB, .address = kA, .kind = EventKind::final_segment});
    trace.add({.size = 12_MiB, .address = kA, .kind = EventKind::final_block, .flags = kActive});
    return trace;
}

// Two private pools that end in one run, with something else between their entries.
TraceBuilder two_pools_end(std::optional<TraceEvent> between = std::nullopt) {
    TraceBuilder trace;
    if (between && between->device == 1) {
        trace.add({.size = 2_MiB, .address = kA, .device = 1, .kind = EventKind::segment_alloc});
        trace.add({.size = 100, .address = kA, .slot = 8, .device = 1});
    }
    trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(0, 100, kA);
    trace.segment(EventKind::segment_alloc, kB, 12_MiB).allocate(1, 12_MiB, kB);
    trace.segment(EventKind::segment_alloc, kC, 2_MiB).allocate(2, 100, kC);
    trace.segment(EventKind::segment_alloc, kD, 12_MiB).allocate(3, 12_MiB, kD);
    trace.free(0).free(1).free(2).free(3).segment(EventKind::segment_free, kA, 2_MiB);
    if (between)
        trace.add(*between);
    trace.segment(EventKind::segment_free, kB, 12_MiB);
    trace.segment(EventKind::segment_free, kC, 2_MiB);
    trace.segment(EventKind::segment_free, kD, 12_MiB);
    trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(0, 100, kA);
    return trace;
}

}  // namespace

TEST_CASE("an emptied cache becomes a trim in the place of its first release", "[explained]") {
    const Explained explained(emptied());

    CHECK_FALSE(explained.unchanged);
    explained.check_rest_untouched();
    CHECK(explained.after[3].kind == EventKind::trim);
    CHECK(explained.after[3].flags == 0);
    CHECK(explained.after[3].aux == 0);
    CHECK(explained.info().event_count == explained.before.size());
}

TEST_CASE("a replay of an explained trace empties its caches", "[explained]") {
    const Explained explained(emptied());
    const TrialSetup setup{.policy = *parse_policy("torch")};

    const auto plain = run_trial(emptied().build(), setup);
    const auto whole = run_trial(explained.trace(), setup);

    REQUIRE(plain);
    REQUIRE(whole);
    CHECK(plain->peak.reserved == 70_MiB);
    CHECK(whole->peak.reserved == 40_MiB);
    REQUIRE(explained_record(explained.trace()) != nullptr);
    CHECK(explained_record(explained.trace())->peak.reserved == 40_MiB);
}

TEST_CASE("an ended pool becomes a trim of that pool, and its requests are its own",
          "[explained]") {
    const Explained explained(with_private_pool());

    explained.check_rest_untouched();
    const TraceEvent& trim = explained.after[6];
    CHECK(trim.kind == EventKind::trim);
    CHECK(trim.aux != 0);
    CHECK(trim.flags == (kEndsPool | kTrimsNothing));
    CHECK(explained.after[1].aux == 0);
    CHECK(explained.after[4].aux == trim.aux);
    CHECK(explained.after[7].aux == 0);
    REQUIRE(explained.info().pools.size() > trim.aux);
    CHECK_FALSE(explained.info().pools[trim.aux].empty());

    const auto replayed = run_trial(explained.trace(), {.policy = *parse_policy("torch")});
    REQUIRE(replayed);
    CHECK(replayed->peak.reserved == 24_MiB);
    CHECK(replayed->stats.segments_released == 1);
}

TEST_CASE("of several pools that end at once each has its trim", "[explained]") {
    const Explained explained(two_pools_end());

    explained.check_rest_untouched();
    std::vector<std::uint32_t> ended;
    for (const TraceEvent& event : explained.after) {
        if (event.kind == EventKind::trim && event.aux != 0)
            ended.push_back(event.aux);
    }
    REQUIRE(ended.size() == 2);
    CHECK(ended[0] != ended[1]);
}

TEST_CASE("what stands between the entries of one run is not overwritten", "[explained]") {
    SECTION("a mark") {
        Explained(two_pools_end(TraceEvent{.kind = EventKind::mark})).check_rest_untouched();
    }
    SECTION("another device's request") {
        const TraceEvent other{.size = 100, .address = kA + 512, .slot = 9, .device = 1};
        const Explained explained(two_pools_end(other), snapshot(2));
        CHECK_FALSE(explained.unchanged);
        explained.check_rest_untouched();
    }
}

TEST_CASE("a trace that needs no explanation keeps its events", "[explained]") {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(0, 100, kA).free(0);

    const Explained explained(trace);

    CHECK(explained.after == explained.before);
    CHECK(explained.info().warnings.empty());
    CHECK(explained.info().pools.size() == 1);
}

TEST_CASE("a trace that the model does not explain keeps its events, with a warning",
          "[explained]") {
    TraceBuilder trace = emptied();
    trace.allocate(2, 100, kB + 1_GiB);  // no allocator puts it there

    const Explained explained(trace);

    CHECK(explained.after == explained.before);
    CHECK(explained_record(explained.trace()) == nullptr);
    CHECK(explained.trace().hash() == explained.trace().recorded_hash());
    CHECK(warns(explained.info(), "the model of torch"));
    CHECK(warns(explained.info(), "tidemark verify"));
}

TEST_CASE("what was inferred is part of the trace's hash", "[explained]") {
    const Explained once(emptied());
    const Explained again(emptied());
    const Explained pool(with_private_pool());
    TraceBuilder nothing_missing;
    nothing_missing.segment(EventKind::segment_alloc, kA, 2_MiB).allocate(0, 100, kA).free(0);
    const Explained plain(nothing_missing);

    CHECK(once.trace().recorded_hash() == emptied().build(snapshot()).hash());
    CHECK(once.trace().hash() != once.trace().recorded_hash());
    CHECK(once.trace().hash() == again.trace().hash());
    CHECK(pool.trace().hash() != pool.trace().recorded_hash());
    CHECK(plain.trace().hash() == plain.trace().recorded_hash());
}

TEST_CASE("a trace without decisions or of another system is returned as it was", "[explained]") {
    TraceBuilder plain;
    plain.allocate(0, 100).free(0);
    CHECK(Explained(plain).unchanged);

    TraceInfo info = snapshot();
    info.format = "jsonl";
    CHECK(Explained(emptied(), info).unchanged);
}

TEST_CASE("a limit that was inferred is a fact of the run, and holds in its replays",
          "[explained]") {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 60_MiB).allocate(0, 60_MiB, kA);
    trace.add({.size = 12_MiB, .address = 1_GiB, .kind = EventKind::out_of_memory});

    const Explained explained(trace);

    const ExplainedRecord* const record = explained_record(explained.trace());
    REQUIRE(record != nullptr);
    CHECK(record->limit() == 64_MiB);
    CHECK(record->limited()->source == LimitSource::inferred);
    CHECK(record->limit_text() == "limit 64.0 MiB, inferred from 1 out-of-memory event");
    const TrialSetup setup{.policy = *parse_policy("torch")};
    TrialSetup lifted = setup;
    lifted.limit = 0;
    CHECK(run_trial(explained.trace(), setup)->refused_again == 1);
    CHECK(run_trial(explained.trace(), lifted)->refused_again == 0);
    CHECK(run_trial(explained.trace(), lifted)->probes_granted == 1);
    CHECK(run_trial(explained.trace(), lifted)->peak.reserved == 60_MiB);
}

TEST_CASE("switched settings are told: replays do not follow them", "[explained]") {
    TraceBuilder trace;
    trace.segment(EventKind::segment_alloc, kA, 12_MiB).allocate(0, 12_MiB, kA);
    trace.segment(EventKind::segment_map, kB, 20_MiB).allocate(1, 12_MiB, kB);

    CHECK(warns(Explained(trace).info(), "expandable_segments"));
}

TEST_CASE("each cursor of an explained trace begins at the begin", "[explained]") {
    const Explained explained(emptied());
    for (int round = 0; round < 2; ++round) {
        const auto cursor = explained.trace().cursor();
        const auto first = cursor->next();
        REQUIRE(first);
        const auto second = cursor->next();
        REQUIRE(second);
        CHECK(second->kind[0] == EventKind::trim);  // event 3: batches of three
    }
}
