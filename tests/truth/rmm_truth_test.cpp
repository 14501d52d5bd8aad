// The rmm policies against what RMM's own resources did on an H200: every address, every upstream
// call, every refusal (traces/samples/rmm).
#include <string>

#include <catch2/catch.hpp>

#include "tests/truth/verified.h"

using namespace tidemark;

namespace {

VerifyReport rmm_verified(const std::string& name, const std::string& policy) {
    return support::verified("rmm/" + name, policy);
}

struct Resource {
    const char* name;
    const char* policy;
};

}  // namespace

TEST_CASE("the rmm policies decide as RMM did, on every recorded program", "[truth][rmm]") {
    const auto resource = GENERATE(
        Resource{"pool", "rmm-pool"}, Resource{"pool-1G", "rmm-pool:initial=1GiB"},
        Resource{"pool-256M-2G", "rmm-pool:initial=256MiB,maximum=2GiB"},
        Resource{"arena", "rmm-arena:size=8GiB"}, Resource{"arena-2G", "rmm-arena:size=2GiB"},
        Resource{"binning", "rmm-binning"}, Resource{"fixed-1M", "rmm-fixed"});
    const std::string program =
        GENERATE("gpt2_var", "moe", "multistream", "hand-alone", "hand-holes", "hand-sizes",
                 "hand-streams", "random-7", "random-23", "streams-5");
    CAPTURE(resource.name, program);
    std::string policy = resource.policy;
    // There the events of the pool, by whose addresses RMM searches its lists, were out of order.
    if (program == "streams-5" && policy == "rmm-binning")
        policy += ":streams=0-3-2-1-4";

    const VerifyReport report = rmm_verified(program + "." + resource.name, policy);

    CHECK(report.mismatches == 0);
    CHECK(report.facts.empty());
    CHECK(report.decisions > 20);
}

TEST_CASE("another of RMM's resources is found out", "[truth][rmm]") {
    CHECK(rmm_verified("hand-streams.pool", "rmm-pool:initial=1MiB").mismatches > 0);
    CHECK(rmm_verified("multistream.pool-256M-2G", "rmm-pool:initial=256MiB").mismatches > 10);
    CHECK(rmm_verified("random-7.arena", "rmm-pool").mismatches > 1'000);
    CHECK(rmm_verified("moe.fixed-1M", "rmm-fixed:preallocate=64").mismatches > 0);
}
