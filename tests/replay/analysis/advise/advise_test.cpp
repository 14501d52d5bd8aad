// advise as a whole: what it says about traces of each kind, and what it warns of.
#include "replay/analysis/advise/advise.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "replay/record/infer_missing_events.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

std::unique_ptr<Trace> open(const std::string& name) {
    Result<std::unique_ptr<Trace>> trace = open_trace(name);
    REQUIRE(trace);
    return std::move(*trace);
}

std::string sample(const char* name) {
    return std::string(TIDEMARK_SOURCE_DIR "/traces/samples/torch/") + name;
}

bool mentions(const std::vector<std::string>& sentences, std::string_view part) {
    return std::any_of(sentences.begin(), sentences.end(), [part](const std::string& sentence) {
        return sentence.find(part) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("a recorded run is compared with its own settings", "[advise]") {
    const auto trace = open(sample("gpt2_var.pickle.xz"));
    const Advice advice = tidemark::advise(*trace, {}).value();

    CHECK(advice.from_torch);
    CHECK(advice.policy == "torch");
    CHECK(advice.parts.reserved == advice.search.before.result.peak.reserved);
    CHECK(advice.parts.in_use + advice.parts.rounding + advice.parts.waiting +
              advice.parts.fragmentation + advice.parts.cached ==
          advice.parts.reserved);
    CHECK(advice.search.floor <= advice.search.best.result.peak.reserved);
    CHECK(advice.peak_requested <= advice.search.floor);
    CHECK(advice.recorded_peak > 0);
    CHECK(mentions(advice.notes, "no call stacks"));
    CHECK(!advice.others.empty());
    CHECK(std::is_sorted(advice.others.begin(), advice.others.end(),
                         [](const OtherPolicy& a, const OtherPolicy& b) {
                             return a.result.peak.reserved < b.result.peak.reserved;
                         }));
}

TEST_CASE("a recording that begins in the middle says what that means", "[advise]") {
    const auto trace = open(sample("gpt2_var-ring.pickle.xz"));
    const Advice advice = tidemark::advise(*trace, {.budget = 5}).value();

    CHECK(mentions(advice.warnings, "starts in the middle"));
}

TEST_CASE("a trace that doesn't say whose it is is replayed under PyTorch's defaults", "[advise]") {
    const auto trace = open("generate:serving:events=3000");
    const Advice advice = tidemark::advise(*trace, {.budget = 20}).value();

    CHECK(!advice.from_torch);
    CHECK(advice.policy == "torch");
    CHECK(mentions(advice.notes, "this is what PyTorch's allocator would do with it"));
    CHECK(advice.search.trials <= 20);
}

TEST_CASE("refusals without a limit are asked about, with one they are counted", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 60_MiB);
    builder.add({.size = 50_MiB, .kind = EventKind::out_of_memory});
    const VectorTrace trace = builder.build();
    const Advice open_end = tidemark::advise(trace, {.budget = 5}).value();
    const Advice limited = tidemark::advise(trace, {.limit = 100_MiB, .budget = 5}).value();

    CHECK(open_end.recorded_refusals == 1);
    CHECK(open_end.search.before.result.refusals() == 0);
    CHECK(mentions(open_end.warnings, "give --limit or --memory"));
    CHECK(limited.search.before.result.refusals() == 1);
    CHECK(limited.parts.reserved == limited.search.before.result.peak.reserved);
    CHECK(!mentions(limited.warnings, "--limit"));
}

TEST_CASE("events keep their numbers where refused requests are asked again", "[advise]") {
    TraceBuilder builder;
    builder.allocate(0, 30_MiB);
    for (int i = 0; i < 3; ++i)
        builder.add({.size = 500_MiB, .kind = EventKind::out_of_memory});
    builder.allocate(1, 60_MiB).free(0);  // events 4 and 5
    const VectorTrace trace = builder.build();
    const Advice advice = tidemark::advise(trace, {.limit = 100_MiB, .budget = 5}).value();

    CHECK(advice.search.before.result.refusals() == 3);
    CHECK(advice.snapshot.reserved.event == 4);
    REQUIRE(advice.snapshot.fullest.live.size() == 2);
    CHECK(advice.snapshot.fullest.live[1].born == 4);
    REQUIRE(advice.snapshot.growth.live.size() == 1);
    CHECK(advice.snapshot.growth.live[0].ends == 5);
}

TEST_CASE("a limit that was inferred is kept to, unless another is given", "[advise]") {
    constexpr std::uint64_t kSegment = 0x7f0000000000;
    TraceInfo info;
    info.format = "torch-snapshot";
    TraceBuilder builder;
    builder.segment(EventKind::segment_alloc, kSegment, 60_MiB).allocate(0, 60_MiB, kSegment);
    builder.add({.size = 50_MiB, .address = 1_GiB, .kind = EventKind::out_of_memory});
    const auto explained =
        infer_missing_events(std::make_unique<VectorTrace>(builder.build(info)), {}).value();
    const Trace& trace = *explained;
    const Advice inferred = tidemark::advise(trace, {.budget = 5}).value();
    const Advice given = tidemark::advise(trace, {.limit = 200_MiB, .budget = 5}).value();

    CHECK(inferred.limit == 64_MiB);
    CHECK(inferred.limit_source == LimitSource::inferred);
    CHECK(inferred.recorded_peak == 60_MiB);
    CHECK(inferred.search.before.result.refusals() == 1);
    CHECK(given.limit == 200_MiB);
    CHECK(given.limit_source == LimitSource::settings);
    CHECK(given.search.before.result.refusals() == 0);
}

TEST_CASE("any policy is explained, and only what its user can set is tried", "[advise]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 1_MiB).build();
    const Advice fixed = tidemark::advise(trace, {.policy = "best-fit"}).value();
    CHECK(fixed.policy == "best-fit");
    CHECK_FALSE(fixed.can_be_set);
    CHECK(fixed.search.trials == 1);
    CHECK(fixed.parts.in_use == 1_MiB);
    TraceInfo rmm;
    rmm.format = "rmm-csv";
    const VectorTrace log = TraceBuilder().allocate(0, 1_MiB).build(rmm);
    const Advice offered = tidemark::advise(log, {}).value();
    CHECK(offered.policy == "rmm-pool");
    CHECK(offered.family == "RMM");
    CHECK(offered.can_be_set);
    CHECK(offered.search.trials > 5);
    CHECK(offered.search.best.name.find("torch") == std::string::npos);
    CHECK(mentions(offered.notes, "doesn't name the resource"));

    const Advice other =
        tidemark::advise(trace, {.policy = "torch:expandable_segments=true"}).value();
    CHECK(other.paged);
    CHECK(other.search.before.choice.expandable);
}

TEST_CASE("an empty trace gets an answer", "[advise]") {
    const VectorTrace trace = TraceBuilder().build();
    const Advice advice = tidemark::advise(trace, {}).value();

    CHECK(!advice.search.improves);
    CHECK(advice.parts.reserved == 0);
    CHECK(advice.holders.empty());
}

TEST_CASE("the longer the trace the fewer settings are tried", "[advise]") {
    CHECK(default_budget(0) == default_budget(1000));
    CHECK(default_budget(1'000'000) < default_budget(300'000));
    CHECK(default_budget(1'000'000'000) >= 20);
}

TEST_CASE("stacks of a real run name lines of the model", "[advise]") {
    const auto trace = open(sample("resnet-frames.pickle.xz"));
    const Advice advice = tidemark::advise(*trace, {.budget = 20}).value();

    CHECK(advice.has_stacks);
    REQUIRE(!advice.holders.empty());
    CHECK(advice.holders[0].kind == HolderKind::site);
    CHECK(advice.holders[0].name.find("torchvision/models/resnet.py:") == 0);
    CHECK(std::any_of(advice.holders.begin(), advice.holders.end(), [](const Holder& holder) {
        return holder.kind == HolderKind::operation && holder.name == "batch_norm";
    }));
    CHECK(!mentions(advice.notes, "no call stacks"));
}
