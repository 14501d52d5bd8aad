// The policy plan on recordings: what bound packs is what a replay by that plan reserves.
#include <string>

#include <catch2/catch.hpp>

#include "core/capture/packing_csv.h"
#include "replay/analysis/bound/bound.h"
#include "replay/analysis/bound/trace_intervals.h"
#include "replay/scenario/scenario.h"
#include "tests/support/test_folder.h"
#include "traces/open.h"

namespace tidemark {
namespace {

std::unique_ptr<Trace> sample(const std::string& name) {
    auto trace = open_trace(TIDEMARK_SOURCE_DIR "/traces/samples/" + name + ".pickle.xz");
    REQUIRE(trace);
    return std::move(*trace);
}

struct PlanOfBound {
    Bytes height = 0;
    std::string csv;
};

PlanOfBound plan_of(const Trace& trace) {
    const std::vector<DeviceIntervals> devices = trace_intervals(trace, kUsualAlignment).value();
    REQUIRE(devices.size() == 1);
    const std::vector<Interval>& intervals = devices[0].intervals;
    const Bound bound = find_bound(intervals, {.iterations = 1, .threads = 1}).value();
    std::vector<std::string> ids;
    for (const std::uint64_t event : devices[0].events)
        ids.push_back(std::to_string(event));
    return {bound.packing.height, packing_csv(ids, intervals, bound.packing.offsets)};
}

TEST_CASE("a recording replayed by the plan that bound makes of it reserves the packing's height",
          "[one-thread]") {
    const std::string name =
        GENERATE("torch/gpt2_var", "torch/graphs", "torch/multistream", "streams/fsdp");
    INFO(name);
    const auto trace = sample(name);
    const PlanOfBound plan = plan_of(*trace);
    const support::TestFolder folder;
    const std::string path = folder.write("plan.csv", plan.csv);

    const Run done = run(*trace, {.policy = "plan:file=" + path, .check = true}).value();

    CHECK(done.measurement("peak_reserved_bytes").whole == align_up(plan.height, 2_MiB));
    CHECK(done.measurement("plan_departures").whole == 0);
    CHECK(done.measurement("out_of_memory").whole == 0);
    CHECK(done.hazard_count == 0);
}

TEST_CASE("without a file the plan is made of the recording itself") {
    const auto trace = sample("torch/gpt2_var");
    const Run planned = run(*trace, {.policy = "plan"}).value();

    CHECK(planned.measurement("plan_departures").whole == 0);
    CHECK(planned.measurement("peak_reserved_bytes").whole <=
          align_up(planned.measurement("peak_requested_bytes").whole, 2_MiB) * 102 / 100);
}

TEST_CASE("the plan of one run serves another run of the program", "[one-thread]") {
    const PlanOfBound plan = plan_of(*sample("torch/gpt2_var"));
    const support::TestFolder folder;
    const std::string path = folder.write("plan.csv", plan.csv);

    const Run other = run(*sample("torch/gpt2_var-exp"), {.policy = "plan:file=" + path}).value();

    CHECK(other.measurement("plan_departures").whole == 0);
    CHECK(other.measurement("peak_reserved_bytes").whole == align_up(plan.height, 2_MiB));
}

}  // namespace
}  // namespace tidemark
