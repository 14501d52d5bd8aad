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

const std::filesystem::path kSamples = TIDEMARK_SOURCE_DIR "/traces/samples";

std::unique_ptr<Trace> opened(const std::string& name) {
    auto trace = open_trace((kSamples / (name + ".txt.xz")).string());
    if (!trace)
        FAIL(to_text(trace.error()));
    return std::move(*trace);
}

VerifyReport verified(const Trace& trace, const std::string& policy) {
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

struct Log {
    const char* program;
    const char* mode;
};

std::string policy_of(const std::string& mode) {
    return mode == "keep"   ? "cuda-async:threshold=max"
           : mode == "t512" ? "cuda-async:threshold=512MiB"
                            : "cuda-async";
}

}  // namespace

TEST_CASE("cuda-async decides as the driver's pool did, on every recorded program",
          "[truth][cuda-async]") {
    const auto log = GENERATE(
        Log{"hand-alone", "keep"}, Log{"hand-alone", "trim"}, Log{"hand-alone", "t512"},
        Log{"hand-holes", "keep"}, Log{"hand-holes", "trim"}, Log{"hand-holes", "t512"},
        Log{"hand-sizes", "keep"}, Log{"hand-sizes", "trim"}, Log{"hand-sizes", "t512"},
        Log{"hand-streams", "keep"}, Log{"hand-streams", "trim"}, Log{"hand-streams", "t512"},
        Log{"random-7", "keep"}, Log{"random-7", "trim"}, Log{"random-7", "t512"},
        Log{"churn", "keep"}, Log{"churn", "trim"}, Log{"churn", "t512"}, Log{"gpt2_var", "keep"},
        Log{"gpt2_var", "trim"}, Log{"moe", "keep"}, Log{"moe", "trim"}, Log{"resnet", "keep"},
        Log{"resnet", "trim"});
    CAPTURE(log.program, log.mode);
    const auto trace = opened(std::string("driver-pool/") + log.program + "." + log.mode);

    const VerifyReport report = verified(*trace, policy_of(log.mode));

    CHECK(report.mismatches == 0);
    CHECK(report.facts.empty());
    CHECK(report.decisions > 60);
    const auto found = recorded_policy(trace->info());
    REQUIRE(found);
    CHECK(verified(*trace, found->text).mismatches == 0);
}

TEST_CASE("rmm-cuda-async gives the addresses that RMM's programs got, whatever their streams",
          "[truth][rmm][cuda-async]") {
    const std::string program =
        GENERATE("gpt2_var", "moe", "multistream", "hand-alone", "hand-holes", "hand-sizes",
                 "hand-streams", "random-7", "random-23", "streams-5");
    CAPTURE(program);

    CHECK(verified(*opened("rmm/" + program + ".async"), "rmm-cuda-async").mismatches == 0);
    CHECK(verified(*opened("rmm/" + program + ".async-1G"),
                   "rmm-cuda-async:initial=1GiB,threshold=1GiB")
              .mismatches == 0);
}

TEST_CASE("another threshold is found out", "[truth][cuda-async]") {
    CHECK(verified(*opened("driver-pool/resnet.trim"), "cuda-async:threshold=max").mismatches > 0);
    CHECK(verified(*opened("driver-pool/churn.t512"), "cuda-async").mismatches > 0);
    CHECK(verified(*opened("driver-pool/hand-streams.keep"), "cuda-malloc").mismatches > 0);
}
