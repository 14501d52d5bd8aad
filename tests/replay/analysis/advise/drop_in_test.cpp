// Our own pool as a row of advice: what a recording lets it expect, where that helps.
#include "replay/analysis/advise/drop_in.h"

#include <catch2/catch.hpp>

#include "traces/open.h"

namespace tidemark {
namespace {

struct Row {
    TrialResult plain;
    Tried drop_in;
};

Row row_of(const char* sample, std::size_t devices = 1) {
    const CostProfile profile = load_profile("h200").value();
    const auto trace = open_trace(sample);
    REQUIRE(trace);
    SearchSetup setup;
    setup.base.policy = parse_policy("torch").value();
    setup.base.profile = &profile;
    setup.base.memory = profile.memory;
    TrialSetup trial = setup.base;
    trial.policy = parse_policy("extent").value();
    Row row{.plain = run_trial(**trace, trial).value(), .drop_in = {}};
    row.plain.device_peaks.resize(devices, row.plain.peak.reserved);
    row.drop_in = try_drop_in(**trace, setup, row.plain).value();
    return row;
}

TEST_CASE("our own pool expects the peak of the recording where that needs less", "[advise]") {
    const Row row = row_of(TIDEMARK_SOURCE_DIR "/traces/samples/spread/offload.pickle.xz");
    CHECK(row.drop_in.policy.text() == "extent:expect=767MiB");
    CHECK(row.drop_in.result.peak.reserved < row.plain.peak.reserved);
    CHECK(row.drop_in.result.refused == 0);
}

TEST_CASE("our own pool expects nothing where that doesn't help, or peaks are several",
          "[advise]") {
    CHECK(row_of(TIDEMARK_SOURCE_DIR "/traces/samples/torch/moe.pickle.xz").drop_in.policy.text() ==
          "extent");
    CHECK(row_of(TIDEMARK_SOURCE_DIR "/traces/samples/spread/offload.pickle.xz", 2)
              .drop_in.policy.text() == "extent");
}

TEST_CASE("private pools are predicted as PyTorch's own allocator serves them", "[advise]") {
    const Row row = row_of(TIDEMARK_SOURCE_DIR "/traces/samples/spread/graphs.pickle.xz");
    CHECK(row.drop_in.policy.wrappers.choice("private_pools") == "torch");
    CHECK(row.drop_in.result.stats.private_reserved_peak > 0);
    CHECK(drop_in_name(row.drop_in.policy).starts_with("extent"));
    CHECK(drop_in_name(row.drop_in.policy).find("private_pools") == std::string::npos);
}

TEST_CASE("a row is one of our own pool where its user can have it", "[advise]") {
    Tried tried;
    tried.policy = parse_policy("extent:expect=1GiB").value();
    CHECK_FALSE(is_drop_in(tried));
    tried.line = "import tidemark.torch";
    CHECK(is_drop_in(tried));
    tried.policy = parse_policy("torch").value();
    CHECK_FALSE(is_drop_in(tried));
}

}  // namespace
}  // namespace tidemark
