// Recorded programs with steps of another size: the largest step is kept back.
#include "replay/analysis/scale/scale.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "replay/analysis/cut/cut.h"
#include "replay/analysis/fit/fit.h"
#include "replay/analysis/trace/program_steps.h"
#include "replay/scenario/trial.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

using namespace tidemark;
using support::VectorTrace;

namespace {

class Collected final : public TraceSink {
  public:
    Result<void> append(std::span<const TraceEvent> some) override {
        events.insert(events.end(), some.begin(), some.end());
        return {};
    }

    Result<void> finish(const TraceInfo&) override { return {}; }

    std::vector<TraceEvent> events;
};

// The first `steps` of a recorded program.
VectorTrace begin_of(const Trace& trace, std::size_t steps) {
    const Result<ProgramSteps> found = find_steps(trace);
    REQUIRE(found);
    REQUIRE(found->ends.size() > steps);
    Collected events;
    const Result<TraceInfo> info = cut_trace(trace, {0, found->ends[steps - 1] + 1}, events);
    REQUIRE(info);
    return VectorTrace(std::move(events.events), *info);
}

std::unique_ptr<Trace> open_sample(const std::string& name) {
    Result<std::unique_ptr<Trace>> trace =
        open_trace(std::string(TIDEMARK_SOURCE_DIR "/traces/samples/torch/") + name + ".pickle.xz");
    REQUIRE(trace);
    return std::move(*trace);
}

GrownTrace grown_by(const Trace& trace, const ScaleModel& model, double batch) {
    Result<GrowthPlan> plan = plan_growth(model, {.growth = {batch, 1}});
    REQUIRE(plan);
    return GrownTrace(trace, model.requests, model.laws, model.steps, std::move(*plan));
}

}  // namespace

TEST_CASE("the largest step of a recorded training comes out of the others") {
    const bool expandable = GENERATE(false, true);
    CAPTURE(expandable);
    const std::unique_ptr<Trace> whole = open_sample(expandable ? "gpt2_var-exp" : "gpt2_var");
    const VectorTrace known = begin_of(*whole, 5);  // the sixth is the largest
    const Result<ScaleModel> model = find_scale(known);
    REQUIRE(model);
    const Result<ScaleReport> report =
        scale(known, *model, {.run = {.growth = {419.0 / 374, 1}}, .policies = {"extent"}});
    REQUIRE(report);
    REQUIRE(report->rows.size() == 2);
    const ScaleRow& row = report->rows[0];
    CHECK(row.recorded);
    // As PyTorch reserved with it.
    CHECK(row.one_more.likely == (expandable ? 6746_MiB : 8496_MiB));
    CHECK(row.one_more.least <= row.one_more.likely);
    CHECK(row.one_more.likely <= row.one_more.most);
    CHECK(row.held_back.predicted == row.held_back.recorded);
    CHECK(row.before < row.one_more.likely);
    CHECK(row.peak.least <= row.peak.likely);
    CHECK(row.peak.likely <= row.peak.most);
    const Result<TrialResult> real =
        run_trial(*whole, {.policy = *parse_policy("extent"), .simulated = true});
    REQUIRE(real);
    CHECK(report->rows[1].one_more.likely == real->peak.reserved);
}

TEST_CASE("shapes tell batch and length of identical steps") {
    Result<std::unique_ptr<Trace>> trace =
        open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/shapes/stablelm.tml.xz");
    REQUIRE(trace);
    const Result<ScaleModel> model = find_scale(**trace);
    REQUIRE(model);
    CHECK_FALSE(model->laws.has_sizes);
    CHECK(model->laws.reference_shape.batch == 6);
    CHECK(model->laws.reference_shape.length == 384);
    CHECK(model->laws.guessed < 0.01);
    for (const ScaleFactors growth : {ScaleFactors{2, 1}, ScaleFactors{1, 2}}) {
        const Result<ScaleReport> report = scale(
            **trace, *model,
            {.run = {.growth = growth}, .policies = {"torch:expandable_segments=true", "extent"}});
        REQUIRE(report);
        // What the program took with a batch of 12, and with 768 tokens.
        CHECK(report->rows.at(0).peak.likely == 3314_MiB);
        CHECK(report->rows.at(1).peak.likely == 3042_MiB);
        CHECK(report->rows.at(2).peak.likely == 3066_MiB);
        CHECK(report->rows.at(0).peak.least < 3314_MiB);
    }
}

TEST_CASE("the largest growth that a card holds survives, and more dies") {
    const std::unique_ptr<Trace> trace = open_sample("gpt2_var");
    const Result<ScaleModel> model = find_scale(*trace);
    REQUIRE(model);
    const ScaleQuestion question{.memory = 12_GiB, .overhead = 0, .policies = {"torch"}};
    const Result<ScaleReport> report = scale(*trace, *model, question);
    REQUIRE(report);
    const ScaleRow& row = report->rows.at(0);
    CHECK(row.fits.surely > 1);
    CHECK(row.fits.surely <= row.fits.perhaps);
    const auto survives = [&](double factor) {
        const GrownTrace grown = grown_by(*trace, *model, factor);
        const Result<FitReport> fitted =
            fit(grown, {.policies = {"torch"}, .memory = 12_GiB, .overhead = 0});
        REQUIRE(fitted);
        return fitted->rows.at(fitted->answer).survives;
    };
    CHECK(survives(row.fits.surely * 0.95));
    CHECK_FALSE(survives(row.fits.perhaps * 1.05));
}

TEST_CASE("a grown trace has the events of the recorded one, without where things were") {
    const std::unique_ptr<Trace> trace = open_sample("gpt2_var");
    const Result<ScaleModel> model = find_scale(*trace);
    REQUIRE(model);
    const GrownTrace same = grown_by(*trace, *model, 1), twice = grown_by(*trace, *model, 2);
    CHECK(same.hash() != twice.hash());
    Collected events;
    const Result<TraceInfo> info = twice.write(events);
    REQUIRE(info);
    CHECK(info->event_count == events.events.size());
    Bytes requested = 0, recorded = 0;
    for (const TraceEvent& event : events.events) {
        CHECK_FALSE(is_truth(event.kind));
        REQUIRE(event.address == 0);
        if (event.kind == EventKind::allocate)
            requested += event.size;
    }
    for (const StepRequest& request : model->requests.requests)
        recorded += request.size;
    Collected unchanged;
    REQUIRE(same.write(unchanged));
    const auto allocations = [](const Collected& all) {
        return std::ranges::count(all.events, EventKind::allocate, &TraceEvent::kind);
    };
    CHECK(static_cast<std::size_t>(allocations(unchanged)) == model->requests.requests.size());
    CHECK(requested > recorded);
    CHECK(requested < 2 * recorded);
}

TEST_CASE("a recording that begins inside its first step has no two whole ones") {
    const Result<ScaleModel> model = find_scale(*open_sample("gpt2_var-ring"));
    REQUIRE_FALSE(model);
    CHECK(model.error().what ==
          "the recording starts inside a step, and only one whole step follows");
}

TEST_CASE("what can't be asked is refused") {
    const std::unique_ptr<Trace> trace = open_sample("gpt2_var");
    const Result<ScaleModel> model = find_scale(*trace);
    REQUIRE(model);
    for (const double factor : {0.0, -1.0, 65.0, std::nan("")})
        CHECK_FALSE(scale(*trace, *model, {.run = {.growth = {factor, 1}}}));
    const Result<ScaleReport> length = scale(*trace, *model, {.run = {.growth = {1, 2}}});
    REQUIRE_FALSE(length);
    CHECK(length.error().what ==
          "the recording's steps do not tell sequence length from batch size");
    const Result<ScaleReport> stopped =
        scale(*trace, *model, {.run = {.growth = {2, 1}}, .stop = [] { return true; }});
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().code == ErrorCode::cancelled);
}
