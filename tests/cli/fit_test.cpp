// fit: what it prints, and what its exit code says.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::kRing;
using support::kSample;
using support::kSteps;
using support::Said;

TEST_CASE("fit says yes or no, where it dies and what it needs", "[cli][fit]") {
    const Said said = support::tidemark({"fit", kSample, "--memory", "5GiB"});

    CHECK(said.code == 0);  // an answer, not a failure
    CHECK(contains(said.out, "torch (as recorded)"));
    CHECK(contains(said.out, "expandable_segments"));
    CHECK(contains(said.out, "No: torch"));
    CHECK(contains(said.out, "It dies at event "));
    CHECK(contains(said.out, "AdamW"));
    CHECK(contains(said.out, "Nothing runs out of memory on a card with "));
    CHECK(said.err == "");
}

TEST_CASE("what fit calls the smallest memory survives, and less dies", "[cli][fit]") {
    const json answer = support::tidemark_json({"fit", kSample, "-p", "torch"});
    const auto smallest = answer["smallest_bytes"].get<std::uint64_t>();
    const auto limit = answer["smallest_limit_bytes"].get<std::uint64_t>();
    const auto survives = [](const std::string& option, std::uint64_t size) {
        return support::tidemark_json(
                   {"fit", kSample, "-p", "torch", option, std::to_string(size)})["survives"]
            .get<bool>();
    };

    CHECK(answer["survives"].is_null());
    CHECK(survives("--memory", smallest));
    CHECK_FALSE(survives("--memory", smallest - 2097152));
    CHECK(survives("--limit", limit));
    CHECK_FALSE(survives("--limit", limit - 2097152));
    CHECK(smallest == limit + answer["overhead_bytes"].get<std::uint64_t>());
}

TEST_CASE("fit's answer is the exit code when CI asks for it", "[cli][fit]") {
    CHECK(support::tidemark({"fit", kSample, "--memory", "80GiB", "--exit-code"}).code == 0);
    CHECK(support::tidemark({"fit", kSample, "--memory", "5GiB", "--exit-code"}).code == 1);
    CHECK(support::tidemark({"fit", kSample, "--limit", "5GiB", "--exit-code"}).code == 1);
    CHECK(support::tidemark({"fit", kSample, "--exit-code"}).code == 2);
}

TEST_CASE("with candidates fit asks whether one of them survives", "[cli][fit]") {
    const json needs =
        support::tidemark_json({"fit", kSteps, "-p", "torch", "-p", "best-fit", "-p", "bump"});
    std::vector<std::uint64_t> sizes;
    for (const json& candidate : needs["candidates"])
        sizes.push_back(candidate["smallest_bytes"].get<std::uint64_t>());
    REQUIRE(sizes.size() == 3);
    REQUIRE(sizes[0] != sizes[1]);
    const std::string better = sizes[0] < sizes[1] ? "torch" : "best-fit";
    const std::string worse = sizes[0] < sizes[1] ? "best-fit" : "torch";
    const std::string enough_for_one = std::to_string(std::min(sizes[0], sizes[1]));
    const auto code = [&](const std::vector<std::string>& policies) {
        std::vector<std::string> arguments{"fit", kSteps, "--memory", enough_for_one,
                                           "--exit-code"};
        for (const std::string& policy : policies)
            arguments.insert(arguments.end(), {"-p", policy});
        return support::tidemark(arguments).code;
    };

    CHECK(code({better}) == 0);
    CHECK(code({worse, better}) == 0);
    CHECK(code({worse}) == 1);
}

TEST_CASE("fit takes an environment variable's assignment as a policy", "[cli][fit]") {
    const json answer = support::tidemark_json(
        {"fit", kSample, "-p", "torch:export PYTORCH_CUDA_ALLOC_CONF='max_split_size_mb:128'"});

    REQUIRE(answer["candidates"].size() == 2);
    CHECK(answer["candidates"][1]["policy"] == "torch:max_split_size_mb=128");
    CHECK(answer["policy"] == "torch:max_split_size_mb=128");
}

TEST_CASE("fit's overhead counts", "[cli][fit]") {
    const auto smallest = [](const std::string& overhead) {
        return support::tidemark_json(
                   {"fit", kSteps, "-p", "torch", "--overhead", overhead})["smallest_bytes"]
            .get<std::uint64_t>();
    };

    CHECK(smallest("1GiB") == smallest("0") + (1U << 30U));
    CHECK(support::tidemark({"fit", kSteps, "--memory", "1GiB", "--overhead", "1GiB"}).code == 2);
}

TEST_CASE("fit prints the same on any number of threads", "[cli][fit]") {
    std::vector<std::string> arguments{"fit", kSteps, "--memory", "3GiB", "--jobs", "1"};
    const Said alone = support::tidemark(arguments);
    arguments.back() = "4";

    CHECK(alone.out == support::tidemark(arguments).out);
    CHECK(alone.code == 0);
}

TEST_CASE("fit tells what it does not know", "[cli][fit]") {
    const Said said = support::tidemark({"fit", kRing});

    CHECK(said.code == 0);
    CHECK(contains(said.out, "note: the recording starts in the middle"));
    CHECK(contains(support::tidemark({"fit", kSteps}).out, "no row for the recorded settings"));
}

TEST_CASE("fit refuses questions that contradict themselves", "[cli][fit]") {
    CHECK(support::tidemark({"fit", kSteps, "--memory", "1GiB", "--limit", "1GiB"}).code == 2);
    CHECK(support::tidemark({"fit", kSteps, "-p", "torhc"}).code == 2);
    CHECK(support::tidemark({"fit", kSteps, "-p", "torch:backend:cudaMallocAsync"}).code == 2);
    CHECK(support::tidemark({"fit"}).code == 2);
}

TEST_CASE("fit's --help shows how to ask", "[cli][fit]") {
    const Said said = support::tidemark({"fit", "--help-all"});

    CHECK(said.code == 0);
    for (const char* word : {"--memory", "--limit", "--overhead", "--exit-code", "--jobs",
                             "tidemark fit snapshot.pickle --memory 80GiB"})
        CHECK(contains(said.out, word));
}
