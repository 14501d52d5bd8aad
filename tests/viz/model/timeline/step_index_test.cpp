// Steps of runs: which stretches and marks are some, and going to them.
#include "viz/model/timeline/step_index.h"

#include <catch2/catch.hpp>

#include "tests/support/small_history.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/navigation/view_location.h"

using namespace tidemark;
using namespace tidemark::viz;
using support::SmallHistory;

namespace {

constexpr std::size_t kAllStretches = 1U << 20U;

std::vector<std::uint64_t> numbers(const StepIndex& steps) {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < steps.size(); ++i)
        all.push_back(steps.number(i));
    return all;
}

std::vector<std::uint64_t> steps_of(SmallHistory& sample) {
    StepIndex steps;
    steps.follow(sample.build(), kAllStretches);
    return numbers(steps);
}

// Steps 5 to 9, three events each, 10 ns apart.
std::shared_ptr<const History> five_steps() {
    SmallHistory sample;
    for (int number = 5; number < 10; ++number) {
        const std::string name = "step " + std::to_string(number);
        sample.begin(name).idle().end(name);
    }
    return sample.build();
}

}  // namespace

TEST_CASE("what lies within a step is a part of it, whatever it is called", "[viz][steps]") {
    SmallHistory sample;
    sample.begin("step 1").begin("micro step 0").end("micro step 0").begin("micro step 1");
    sample.end("micro step 1").end("step 1").begin("step 2").end("step 2");
    CHECK(steps_of(sample) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a step whose end was lost is followed by the next one", "[viz][steps]") {
    SmallHistory sample;
    sample.begin("step 1").idle().begin("step 2").begin("step 2").end("step 2").begin("step 3");
    CHECK(steps_of(sample) == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("steps go before epochs, and what has no number is counted", "[viz][steps]") {
    SmallHistory epochs;
    epochs.begin("epoch 0").begin("batch 4").end("batch 4").begin("batch 5").end("batch 5");
    epochs.end("epoch 0");
    CHECK(steps_of(epochs) == std::vector<std::uint64_t>{4, 5});

    SmallHistory unnumbered;
    for (int i = 0; i < 3; ++i)
        unnumbered.begin("Optimizer.step#AdamW.step").idle().end("Optimizer.step#AdamW.step");
    CHECK(steps_of(unnumbered) == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("marks are steps where no stretch is one", "[viz][steps]") {
    SmallHistory marked;
    marked.idle().mark(MarkKind::point, 0, "step 1").idle().mark(MarkKind::point, 0, "saved");
    marked.mark(MarkKind::point, 0, "step 2").idle();
    const auto history = marked.build();
    StepIndex steps;
    steps.follow(history, kAllStretches);
    REQUIRE(numbers(steps) == std::vector<std::uint64_t>{1, 2});
    CHECK(steps.at(0).end == steps.at(1).begin);
    CHECK(steps.at(1).end == kNever);

    SmallHistory both;
    both.mark(MarkKind::point, 0, "step 7").begin("step 1").idle().end("step 1");
    CHECK(steps_of(both) == std::vector<std::uint64_t>{1});
}

TEST_CASE("steps that are taken in one by one are the same", "[viz][steps]") {
    const auto history = five_steps();
    StepIndex steps;
    while (steps.follow(history, 1)) {
    }
    CHECK(numbers(steps) == std::vector<std::uint64_t>{5, 6, 7, 8, 9});
    for (std::size_t i = 0; i < steps.size(); ++i) {
        CHECK(steps.first_from(AxisUnit::time, steps.position(i, AxisUnit::time)) == i);
        CHECK(steps.first_from(AxisUnit::events, steps.position(i, AxisUnit::events) + 1) == i + 1);
    }
}

TEST_CASE("one goes from step to step, and to one by its number", "[viz][steps]") {
    Session session;
    ViewedRun run;
    run.history = five_steps();
    run.state.phase = LoadState::Phase::ready;
    session.runs.push_back(std::move(run));
    const History& history = *session.runs[0].history;
    Camera camera;
    camera.set_extent(AxisUnit::time, history.end(AxisUnit::time));
    Selection selection;
    StepIndex steps;
    steps.follow(session.runs[0].history, kAllStretches);
    const auto step = [&](bool forward) {
        const auto stop = next_step(steps, session, camera, selection, forward);
        if (stop)
            selection.cursor = stop->position;
        return stop ? stop->what.substr(0, 6) : "";
    };
    CHECK(step(true) == "step 5");
    CHECK(step(false).empty());
    CHECK(step(true) == "step 6");
    CHECK(step(true) == "step 7");
    CHECK(step(false) == "step 6");

    for (const char* const text : {"step 8", "step=8", " step  8 "}) {
        const auto location = parse_target(text);
        REQUIRE(location);
        CHECK(*parse_location(to_text(*location)) == *location);
        selection.cursor.reset();
        REQUIRE(go_to(*location, session, camera, selection));
        CHECK(selection.cursor == steps.position(3, AxisUnit::time));
    }
    for (const char* const text : {"step x", "step=", "step=-1", "step=1;peak"})
        CHECK_FALSE(parse_target(text));
    const auto beyond = go_to(*parse_target("step 10"), session, camera, selection);
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().hint == "the first one is 5, the last one 9");
}
