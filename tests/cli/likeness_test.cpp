// Like is compared with like: rivals start with the same live blocks, are placed the same way, and
// pay for their first growth once; the recorded run is shown next to them.
#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::tidemark_json;

namespace {

// Begun after the peak, with 19.5 GiB cached.
const std::string kLate = support::project_file("tests/cli/cases/peak-at-begin.pickle.xz");
const std::string kRing = support::project_file("traces/samples/torch/gpt2_var-ring.pickle.xz");
const std::string kTwoGpus =
    support::project_file("traces/samples/torch-edges/two-devices.pickle.xz");

}  // namespace

TEST_CASE("caches of before a recording are held against no rival", "[cli][likeness]") {
    const json advice = tidemark_json({"advise", kLate});
    CHECK_FALSE(advice["improves"]);
    CHECK(advice["recorded_run"]["peak_reserved_bytes"] > advice["before"]["peak_reserved_bytes"]);
    CHECK(advice["memory"]["cached_bytes"] > std::uint64_t{19} << 30U);

    const json compared = tidemark_json({"compare", kLate, "-p", "torch", "-p", "best-fit"});
    CHECK(compared["traces"][0]["recorded_run"]["peak_reserved_bytes"] ==
          advice["recorded_run"]["peak_reserved_bytes"]);
    for (const json& row : compared["runs"])
        CHECK(row["peak_reserved_bytes"] == advice["before"]["peak_reserved_bytes"]);
    const std::string text = support::tidemark({"compare", kLate, "-p", "torch"}).out;
    CHECK(contains(text, "torch (the recorded run)"));
}

TEST_CASE("a setting that changes nothing saves nothing", "[cli][likeness]") {
    const json compared =
        tidemark_json({"compare", kRing, "-p", "torch", "-p", "torch:max_split_size_mb=100000"});
    CHECK(compared["runs"][0]["peak_reserved_bytes"] == compared["runs"][1]["peak_reserved_bytes"]);
    CHECK(compared["runs"][1]["change"].value("peak_reserved_bytes", 0.0) == 0);
}

TEST_CASE("one step and ten of the same get the same advice", "[cli][likeness]") {
    const auto advice = [](const char* name) {
        return tidemark_json({"advise", support::project_file("tests/cli/cases/") + name});
    };
    const json one = advice("one-step.jsonl.xz");
    const json ten = advice("ten-steps.jsonl.xz");
    CHECK(one["improves"]);
    CHECK(one["best"]["export"] == ten["best"]["export"]);
    CHECK(one["best"]["growth_ns"] == ten["best"]["growth_ns"]);
}

TEST_CASE("a retry looks at no block that its wait has freed, up to PyTorch 2.12",
          "[cli][likeness]") {
    const std::string trace = support::project_file("tests/cli/cases/pending-oom.jsonl");
    const auto refused = [&](const char* policy) {
        return json::parse(
            support::tidemark({"replay", trace, "-p", policy, "--limit", "10GiB", "--json"})
                .out)["out_of_memory"];
    };
    CHECK(refused("torch") == 1);
    CHECK(refused("torch:version=2.12") == 1);
    CHECK(refused("torch:version=2.13") == 0);
    CHECK(refused("best-fit") == 0);
}

TEST_CASE("throw_on_cudamalloc_oom refuses before anything is emptied", "[cli][likeness]") {
    const std::string trace = support::project_file("tests/cli/cases/throw-needs-no-retry.jsonl");
    const auto run = [&](const std::string& more) {
        return json::parse(support::tidemark({"replay", trace, "--memory", "80GiB", "--json", "-p",
                                              "torch:per_process_memory_fraction=0.5" + more})
                               .out);
    };
    CHECK(run(",throw_on_cudamalloc_oom=true")["out_of_memory"] == 1);
    CHECK(run(",throw_on_cudamalloc_oom=true")["retries"] == 0);
    CHECK(run("")["out_of_memory"] == 0);
    CHECK(run("")["retries"] == 1);
}

TEST_CASE("what advise says is of one GPU, and which", "[cli][likeness]") {
    const json advice = tidemark_json({"advise", kTwoGpus});
    const json replayed = tidemark_json({"replay", kTwoGpus});
    REQUIRE(advice["gpus"].size() == 2);
    CHECK(advice["gpu"] == 0);
    for (std::size_t i = 0; i < 2; ++i) {
        const json of_one = tidemark_json({"advise", kTwoGpus, "--gpu", std::to_string(i)});
        const json& peak = replayed["devices"][i]["peak_reserved_bytes"];
        CHECK(of_one["gpu"] == i);
        CHECK(of_one["gpus"][i]["peak_reserved_bytes"] == peak);
        CHECK(of_one["memory"]["reserved_bytes"] == peak);
        CHECK(of_one["recorded_peak_reserved_bytes"] == peak);
        CHECK(of_one["warnings"].empty());
        CHECK(tidemark_json(
                  {"replay", kTwoGpus, "--gpu", std::to_string(i)})["peak_reserved_bytes"] == peak);
    }
    CHECK(advice["memory"]["reserved_bytes"] == advice["gpus"][0]["peak_reserved_bytes"]);
    const auto none = support::tidemark({"advise", kTwoGpus, "--gpu", "2"});
    CHECK(none.code == 2);
    CHECK(contains(none.err, "there is no GPU 2: the trace has 2"));
}
