// What a recording's user can set: every offer is one of our policies, and says how to set it.
#include "replay/record/allocator_family.h"

#include <catch2/catch.hpp>

#include "core/allocator/spec.h"
#include "replay/record/recorded_policy.h"

using namespace tidemark;

namespace {

TraceInfo of_format(const char* format) {
    TraceInfo info;
    info.format = format;
    return info;
}

TEST_CASE("what isn't known of a model is said where it matters", "[family]") {
    TraceInfo info = of_format("jsonl");
    const std::vector<std::string> measured{"torch", "cupy", "rmm-pool", "cuda-async", "extent"};
    info.streams = {0};
    info.pools = {"default"};
    CHECK(model_limits(info, measured).empty());

    const std::vector<std::string> read{"torch", "quick-pool:next=1MiB", "bfc", "bfc:growth=false"};
    const std::vector<std::string> limits = model_limits(info, read);
    REQUIRE(limits.size() == 1);
    CHECK(limits.front().starts_with("quick-pool, bfc follow rules as their sources read"));

    info.streams = {0, 7};
    REQUIRE(model_limits(info, measured).size() == 1);
    CHECK(model_limits(info, measured).front().find("with 2 streams") != std::string::npos);
    info.streams = {0};
    info.pools = {"default", "(1, 0)"};
    CHECK(model_limits(info, measured).front().find("with graphs") != std::string::npos);
}

}  // namespace

TEST_CASE("every offer can be parsed, is another, and has a line", "[family]") {
    for (const char* const format :
         {"rmm-csv", "rmm-decisions", "cupy-hook", "cupy-pool", "umpire-replay", "driver-pool"}) {
        INFO(format);
        const TraceInfo info = of_format(format);
        REQUIRE(allocator_family(info) != nullptr);
        for (const Bytes requested : {Bytes{0}, Bytes{1}, Bytes{3'000'000'001}}) {
            std::vector<std::string> seen;
            for (const PolicyOffer& offer : policy_offers(info, requested)) {
                INFO(offer.policy);
                const Result<PolicySpec> spec = parse_policy(offer.policy);
                REQUIRE(spec);
                CHECK_FALSE(offer.line.empty());
                if (requested > 1_MiB)
                    CHECK(std::ranges::find(seen, spec->text()) == seen.end());
                seen.push_back(spec->text());
            }
            CHECK_FALSE(seen.empty());
        }
    }
}

TEST_CASE("a family's own policy is what it is replayed under, and it says where that is assumed",
          "[family]") {
    const RecordedPolicy rmm = recorded_policy(of_format("rmm-csv")).value();
    CHECK(rmm.text == "rmm-pool");
    CHECK_FALSE(rmm.assumed.empty());
    const RecordedPolicy cupy = recorded_policy(of_format("cupy-hook")).value();
    CHECK(cupy.text == "cupy");
    CHECK(cupy.assumed.empty());
    TraceInfo jax = of_format("jsonl");
    CHECK(allocator_family(jax) == nullptr);
    CHECK(policy_offers(jax, 1_GiB).empty());
    jax.settings = {{"allocator", "bfc"}};
    REQUIRE(allocator_family(jax) != nullptr);
    CHECK(recorded_policy(jax).value().text == "bfc");
}

TEST_CASE("offers are the system's own, and few of each where policies are compared", "[family]") {
    const TraceInfo info = of_format("rmm-csv");
    CHECK(offers_policy(info, "rmm-arena"));
    CHECK(offers_policy(info, "cuda-malloc"));
    CHECK_FALSE(offers_policy(info, "torch"));
    CHECK_FALSE(offers_policy(info, "cupy"));
    const std::vector<PolicyOffer> few = policy_offers(info, 1_GiB, kOffersToCompare);
    CHECK(few.size() < policy_offers(info, 1_GiB).size());
    CHECK(std::ranges::count_if(few, [](const PolicyOffer& offer) {
              return offer.policy.starts_with("rmm-pool");
          }) == kOffersToCompare);
}

TEST_CASE("PyTorch's settings are searched, and a program of the driver has none", "[family]") {
    TraceInfo info = of_format("torch-snapshot");
    REQUIRE(allocator_family(info) != nullptr);
    CHECK(allocator_family(info)->name == "PyTorch");
    CHECK(policy_offers(info, 1_GiB).empty());
    info = of_format("live");
    info.settings = {{std::string(kRecorderKey), std::string(kDriverCalls)}};
    REQUIRE(allocator_family(info) != nullptr);
    CHECK(allocator_family(info)->policy == "cuda-malloc");
    CHECK(policy_offers(info, 1_GiB).empty());
}
