// The `torch` policy against the slow model: random programs over all settings, streams, pools,
// limits and refusals. No decision may differ, and every rule must have been at work.
#include "tests/model/duel.h"

#include <catch2/catch.hpp>

#include "tests/support/property.h"

namespace tidemark::model {
namespace {

constexpr std::size_t kSteps = 3000;  // of one program

// Runs `count` programs; the first difference as text, or "".
std::string first_difference(const support::Effort& effort, Coverage& coverage) {
    for (int i = 0; i < effort.cases; ++i) {
        const std::uint64_t seed = effort.seed * 1'000'003 + static_cast<std::uint64_t>(i);
        std::string difference = describe_difference(make_program(seed, kSteps), coverage);
        if (!difference.empty())
            return difference;
    }
    return {};
}

// Was every rule at work, and not by chance alone? Few steps can't tell.
void check_coverage(const Coverage& coverage, std::uint64_t steps) {
    if (steps < 500'000)
        return;
    for (std::size_t i = 0; i < kRules; ++i) {
        const auto rule = static_cast<Rule>(i);
        INFO(to_text(rule) << ": " << coverage.of(rule) << " times in " << steps << " steps");
        CHECK(coverage.of(rule) >= steps / 50'000);
    }
}

void check_duels(const support::Effort& effort) {
    Coverage coverage;
    const std::string difference = first_difference(effort, coverage);
    INFO(difference);
    REQUIRE(difference.empty());
    check_coverage(coverage, static_cast<std::uint64_t>(effort.cases) * kSteps);
}

}  // namespace

TEST_CASE("torch decides as the slow model does on random programs", "[policy][torch]") {
    check_duels(support::effort(1000));
}

TEST_CASE("torch decides as the slow model does for much longer", "[.long][policy][torch]") {
    check_duels(support::effort(20'000));
}

TEST_CASE("a duel under unlike settings ends in a difference, which shrinks", "[model]") {
    DuelProgram program = make_program(1, kSteps);
    program.settings = {{.values = {}, .text = "torch:roundup_power2_divisions=4"}};
    Coverage coverage;

    REQUIRE(duel(program, coverage));
    const DuelProgram shrunk = shrink(program, 1000);

    REQUIRE(shrunk.steps.size() == 1);
    CHECK(shrunk.steps.front().kind == DuelStep::Kind::allocate);
    CHECK(describe_difference(program, coverage).find("shrunk to 1 steps") != std::string::npos);
}

}  // namespace tidemark::model
