// Which names are those of steps, and which of several families are the steps.
#include "replay/facts/step_names.h"

#include <catch2/catch.hpp>

namespace tidemark::facts {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
    const auto name = parse_step_name(text);
    return name ? name->number : std::nullopt;
}

}  // namespace

TEST_CASE("a step is known by its name", "[facts][steps]") {
    CHECK(number_of("step 12") == 12);
    CHECK(number_of("ProfilerStep#7") == 7);
    CHECK(number_of("train_step_3") == 3);
    CHECK(number_of("Step: 0") == 0);
    CHECK(number_of("iteration 41/90") == 41);
    CHECK(number_of("iter 2") == 2);
    CHECK(number_of("batch 9") == 9);
    CHECK(number_of("timestep 9") == 9);
    CHECK(number_of("epoch 9") == 9);
    CHECK(number_of("epoch 2, step 18") == 18);
    CHECK(parse_step_name("epoch 2, step 18")->family == "epoch N, step N");
    CHECK(parse_step_name("iteration 41/90")->family == "iteration N");
    CHECK(parse_step_name("minibatch 4")->kind == StepName::Kind::batch);
    const auto unnumbered = parse_step_name("Optimizer.step#AdamW.step");
    REQUIRE(unnumbered);
    CHECK_FALSE(unnumbered->number);
    CHECK(unnumbered->family == "Optimizer.step#AdamW.step");
    for (const char* const other : {"", "stepping 3", "steps 3", "forward 3", "batched 2"})
        CHECK_FALSE(parse_step_name(other));
    for (const char* const other :
         {"step", "step twelve", "step    3", "step 3rd", "step 99999999999999999999999"})
        CHECK_FALSE(number_of(other));
}

TEST_CASE("what lies within a step is a part of it, but not the next step", "[facts][steps]") {
    const auto is_part = [](const char* open, const char* name) {
        return is_part_of(*parse_step_name(open), *parse_step_name(name));
    };
    CHECK(is_part("step 1", "micro step 0"));
    CHECK(is_part("step 1", "step 1"));
    CHECK_FALSE(is_part("step 1", "step 2"));
    CHECK_FALSE(is_part("epoch 1", "step 1"));
    CHECK_FALSE(is_part("step 1", "batch 1"));
}

TEST_CASE("numbers go before none, stretches before marks, steps before epochs", "[facts][steps]") {
    using Kind = StepName::Kind;
    const StepFamily steps{Kind::step, true, false, 10, 5};
    CHECK(goes_before(steps, {Kind::step, false, false, 90, 0}));
    CHECK(goes_before(steps, {Kind::step, true, true, 90, 0}));
    CHECK(goes_before(steps, {Kind::epoch, true, false, 90, 0}));
    CHECK(goes_before(steps, {Kind::step, true, false, 9, 0}));
    CHECK(goes_before(steps, {Kind::step, true, false, 10, 6}));
    CHECK_FALSE(goes_before(steps, steps));
}

}  // namespace tidemark::facts
