// The search over a list, and priming: what they answer is what a trial of it comes to.
#include "replay/analysis/advise/offer_search.h"

#include <catch2/catch.hpp>

#include "replay/analysis/advise/priming.h"
#include "tests/support/vector_trace.h"

using namespace tidemark;
using support::TraceBuilder;
using support::VectorTrace;

namespace {

const CostProfile& offer_profile() {
    static const CostProfile h200 = load_profile("h200").value();
    return h200;
}

SearchSetup offer_setup(const char* policy) {
    SearchSetup setup;
    setup.base.policy = parse_policy(policy).value();
    setup.base.profile = &offer_profile();
    setup.base.memory = offer_profile().memory;
    setup.base.simulated = true;
    setup.timed = false;
    return setup;
}

std::vector<PolicySpec> parsed(std::initializer_list<const char*> texts) {
    std::vector<PolicySpec> list;
    for (const char* const text : texts)
        list.push_back(parse_policy(text).value());
    return list;
}

// Each step holds a block that is a little larger than the last one's, so that none fits the hole
// before it.
VectorTrace growing_blocks() {
    TraceBuilder builder;
    builder.allocate(0, 64_MiB);
    for (std::uint32_t i = 1; i <= 12; ++i) {
        builder.allocate(i, 40_MiB + i * 2_MiB);
        builder.free(i);
    }
    return builder.build();
}

}  // namespace

TEST_CASE("of a list the least is advised, and one setting of each policy is listed", "[advise]") {
    const VectorTrace trace = growing_blocks();
    const SearchSetup setup = offer_setup("torch");
    const SearchResult found =
        search_offers(trace, setup,
                      parsed({"torch", "torch:expandable_segments=true", "best-fit",
                              "best-fit:segment=1GiB", "cuda-malloc"}))
            .value();
    CHECK(found.before.policy.text() == "torch");
    CHECK(found.trials == 5);  // torch itself once
    REQUIRE(found.improves);
    TrialSetup again = setup.base;
    again.policy = found.best.policy;
    CHECK(run_trial(trace, again)->peak.reserved == found.best.result.peak.reserved);
    CHECK(found.best.result.peak.reserved < found.before.result.peak.reserved);
    std::vector<std::string_view> names{found.best.policy.policy->name};
    for (const Tried& other : found.others)
        names.push_back(other.policy.policy->name);
    std::ranges::sort(names);
    CHECK(std::ranges::adjacent_find(names) == names.end());
}

TEST_CASE("without anything to try the answer is what it comes to", "[advise]") {
    const VectorTrace trace = growing_blocks();
    const SearchResult found = search_offers(trace, offer_setup("cuda-malloc"), {}).value();
    CHECK_FALSE(found.improves);
    CHECK(found.trials == 1);
    CHECK(found.best.result.peak.reserved == found.before.result.peak.reserved);
}

TEST_CASE("a program that takes its memory at the start needs no more segments", "[advise]") {
    const VectorTrace trace = growing_blocks();
    const SearchSetup setup = offer_setup("torch");
    Tried before{.choice = {}, .policy = setup.base.policy, .result = {}};
    before.result = run_trial(trace, setup.base).value();
    const std::optional<Tried> primed = search_priming(trace, setup, before).value();
    REQUIRE(primed);
    CHECK(primed->prime >= 64_MiB + 64_MiB);
    CHECK(primed->result.peak.reserved == primed->prime);
    CHECK(primed->result.peak.reserved < before.result.peak.reserved);
    TrialSetup again = setup.base;
    again.prime = primed->prime;
    CHECK(run_trial(trace, again)->peak.reserved == primed->result.peak.reserved);
    again.prime = primed->prime - 2_MiB;
    CHECK(run_trial(trace, again)->peak.reserved > primed->result.peak.reserved);
}

TEST_CASE("where nothing lies free priming is no advice", "[advise]") {
    const VectorTrace trace = TraceBuilder().allocate(0, 64_MiB).allocate(1, 64_MiB).build();
    const SearchSetup setup = offer_setup("torch");
    Tried before{.choice = {}, .policy = setup.base.policy, .result = {}};
    before.result = run_trial(trace, setup.base).value();
    CHECK_FALSE(search_priming(trace, setup, before).value());
}
