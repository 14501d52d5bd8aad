// The policy cupy against what CuPy's MemoryPool did on an H200: every address, segment, total and
// refusal, up to CuPy's own choice among equal chunks (traces/samples/cupy-pool).
#include <string>

#include <catch2/catch.hpp>

#include "tests/truth/verified.h"

using namespace tidemark;

namespace {

VerifyReport cupy_verified(const std::string& name, const std::string& policy) {
    return support::verified("cupy-pool/" + name, policy);
}

struct CupyLog {
    const char* name;
    const char* policy;
    std::uint64_t ties;
    std::uint64_t refusals;
};

}  // namespace

TEST_CASE("cupy decides as CuPy did, up to the order of host objects", "[truth][cupy]") {
    const auto log = GENERATE(
        CupyLog{"hand-alone.free", "cupy", 0, 0}, CupyLog{"hand-holes.free", "cupy", 13, 0},
        CupyLog{"hand-sizes.free", "cupy", 0, 0}, CupyLog{"hand-streams.free", "cupy", 6, 0},
        CupyLog{"multistream.free", "cupy", 23, 0}, CupyLog{"gpt2_var.free", "cupy", 3'024, 0},
        CupyLog{"random-7.free", "cupy", 1'317, 0},
        CupyLog{"gpt2_var.2GiB", "cupy:limit=2GiB", 907, 3'183},
        CupyLog{"random-7.2GiB", "cupy:limit=2GiB", 1'237, 129});
    CAPTURE(log.name);

    const VerifyReport report = cupy_verified(log.name, log.policy);

    CHECK(report.mismatches == 0);
    CHECK(report.facts.empty());
    CHECK(report.stats.ties == log.ties);
    CHECK(report.stats.out_of_memory == log.refusals);
    CHECK(report.decisions > 20);
}

TEST_CASE("the limit of a pool of CuPy's is found from what it refused", "[truth][cupy]") {
    const VerifyReport report = cupy_verified("gpt2_var.2GiB", "cupy");

    CHECK(report.mismatches == 0);
    REQUIRE(report.facts.size() == 1);
    CHECK(report.facts[0].kind == InferredFact::Kind::limit);
    CHECK(report.facts[0].count == 2_GiB);
}

TEST_CASE("another allocator than CuPy's is found out", "[truth][cupy]") {
    CHECK(cupy_verified("random-7.free", "rmm-pool").mismatches > 1'000);
    CHECK(cupy_verified("random-7.free", "best-fit").mismatches > 1'000);
    // What it refused is then taken for a device that was full, and said.
    CHECK_FALSE(cupy_verified("random-7.2GiB", "cupy:limit=3GiB").facts.empty());
}
