// cuda-async against what the CUDA driver's own pool did on an H200: every address, and what the
// pool held after every call (traces/samples/driver-pool); and rmm-cuda-async against the addresses
// that RMM's programs got from it, with several streams (traces/samples/rmm).
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "replay/record/recorded_policy.h"
#include "replay/record/verify.h"
#include "traces/open.h"

using namespace tidemark;

namespace {

const std::filesystem::path kPoolSamples = TIDEMARK_SOURCE_DIR "/traces/samples";

std::unique_ptr<Trace> open_log(const std::string& name) {
    auto trace = open_trace((kPoolSamples / (name + ".tmk")).string());
    if (!trace)
        FAIL(to_text(trace.error()));
    return std::move(*trace);
}

VerifyReport compared(const Trace& trace, const std::string& policy) {
    const auto spec = parse_policy(policy);
    if (!spec)
        FAIL(to_text(spec.error()));
    const auto report = verify(trace, *spec, {});
    if (!report)
        FAIL(to_text(report.error()));
    if (report->first_mismatch) {
        UNSCOPED_INFO("event " << report->first_mismatch->event);
        UNSCOPED_INFO("expected " << report->first_mismatch->expected);
        UNSCOPED_INFO("actual   " << report->first_mismatch->actual);
    }
    return *report;
}

struct PoolLog {
    const char* program;
    const char* mode;
};

std::string pool_policy(const std::string& mode) {
    return mode == "keep"   ? "cuda-async:threshold=max"
           : mode == "t512" ? "cuda-async:threshold=512MiB"
                            : "cuda-async";
}

}  // namespace

TEST_CASE("cuda-async decides as the driver's pool did, on every recorded program",
          "[truth][cuda-async]") {
    const auto log = GENERATE(
        PoolLog{"hand-alone", "keep"}, PoolLog{"hand-alone", "trim"}, PoolLog{"hand-alone", "t512"},
        PoolLog{"hand-holes", "keep"}, PoolLog{"hand-holes", "trim"}, PoolLog{"hand-holes", "t512"},
        PoolLog{"hand-sizes", "keep"}, PoolLog{"hand-sizes", "trim"}, PoolLog{"hand-sizes", "t512"},
        PoolLog{"hand-streams", "keep"}, PoolLog{"hand-streams", "trim"},
        PoolLog{"hand-streams", "t512"}, PoolLog{"random-7", "keep"}, PoolLog{"random-7", "trim"},
        PoolLog{"random-7", "t512"}, PoolLog{"churn", "keep"}, PoolLog{"churn", "trim"},
        PoolLog{"churn", "t512"}, PoolLog{"gpt2_var", "keep"}, PoolLog{"gpt2_var", "trim"},
        PoolLog{"moe", "keep"}, PoolLog{"moe", "trim"}, PoolLog{"resnet", "keep"},
        PoolLog{"resnet", "trim"});
    CAPTURE(log.program, log.mode);
    const auto trace = open_log(std::string("driver-pool/") + log.program + "." + log.mode);

    const VerifyReport report = compared(*trace, pool_policy(log.mode));

    CHECK(report.mismatches == 0);
    CHECK(report.facts.empty());
    CHECK(report.decisions > 60);
    const auto found = recorded_policy(trace->info());
    REQUIRE(found);
    CHECK(compared(*trace, found->text).mismatches == 0);
}

TEST_CASE("rmm-cuda-async gives the addresses that RMM's programs got, whatever their streams",
          "[truth][rmm][cuda-async]") {
    const std::string program =
        GENERATE("gpt2_var", "moe", "multistream", "hand-alone", "hand-holes", "hand-sizes",
                 "hand-streams", "random-7", "random-23", "streams-5");
    CAPTURE(program);

    CHECK(compared(*open_log("rmm/" + program + ".async"), "rmm-cuda-async").mismatches == 0);
    CHECK(compared(*open_log("rmm/" + program + ".async-1G"),
                   "rmm-cuda-async:initial=1GiB,threshold=1GiB")
              .mismatches == 0);
}

TEST_CASE("another threshold is found out", "[truth][cuda-async]") {
    CHECK(compared(*open_log("driver-pool/resnet.trim"), "cuda-async:threshold=max").mismatches >
          0);
    CHECK(compared(*open_log("driver-pool/churn.t512"), "cuda-async").mismatches > 0);
    CHECK(compared(*open_log("driver-pool/hand-streams.keep"), "cuda-malloc").mismatches > 0);
}
