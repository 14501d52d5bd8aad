// What a recording tells of its card bounds what is promised of it; and one without a history is a
// state, which nobody replays.
#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Said;
using support::tidemark_json;

namespace {

// 66 GiB reserved, all of it live, 100 MiB free, and 2 GiB requested.
const std::string kFull = support::project_file("tests/cli/cases/oom-all-live.pickle.xz");
// Dumped without _record_memory_history.
const std::string kState = support::project_file("tests/cli/cases/no-history.pickle.xz");

constexpr std::uint64_t kRoom = (std::uint64_t{66} << 30U) + (std::uint64_t{100} << 20U);

}  // namespace

TEST_CASE("what a full card didn't have is promised by no advice", "[cli][card]") {
    const json advice = tidemark_json({"advise", kFull});

    CHECK(advice["limit_bytes"] == kRoom);
    CHECK(contains(advice["limit_source"], "the memory that its card had for it"));
    CHECK_FALSE(advice["limit_is_inferred"]);
    CHECK_FALSE(advice["improves"]);
    CHECK(advice["best"]["out_of_memory"] == 1);
    for (const json& remedy : advice["out_of_memory_cases"][0]["remedies"])
        CHECK(remedy["helps"] == (remedy["kind"] == "more_memory"));
    const std::string text = support::tidemark({"advise", kFull}).out;
    CHECK_FALSE(contains(text, "export "));
    CHECK(contains(text, "66.0 GiB reserved and 100 MiB free"));
    CHECK(text.starts_with("No setting helps: the program must hold 1.90 GiB less at once"));
    CHECK(contains(text, "device full\n      forward (/app/model.py:181): aten::relu\n"));
    CHECK_FALSE(contains(text, "unwind"));
}

TEST_CASE("other settings run on the card that was there, unless its limit is lifted",
          "[cli][card]") {
    for (const char* policy : {"torch", "torch:expandable_segments=true", "best-fit"}) {
        INFO(policy);
        CHECK(tidemark_json({"replay", kFull, "-p", policy})["out_of_memory"] == 1);
        CHECK(tidemark_json({"replay", kFull, "-p", policy, "--limit", "none"})["out_of_memory"] ==
              0);
    }
}

TEST_CASE("fit says no to the card that a run died on", "[cli][card]") {
    const json there = tidemark_json({"fit", kFull, "--memory", "80GiB"});

    CHECK(there["overhead_bytes"] == (std::uint64_t{80} << 30U) - kRoom);
    CHECK(there["survives"] == false);
    for (const json& row : there["candidates"])
        CHECK(row["survives"] == false);
    CHECK(tidemark_json({"fit", kFull})["survives"] == false);
    CHECK(tidemark_json({"fit", kFull, "--memory", "80GiB", "--overhead", "1GiB"})["survives"] ==
          true);
    CHECK(support::tidemark({"fit", kFull, "--memory", "80GiB", "--exit-code"}).code == 1);
    CHECK(contains(support::tidemark({"fit", kFull, "--memory", "80GiB"}).out,
                   "80.0 GiB, 13.9 GiB of them for others"));
}

TEST_CASE("a file without history is a state, which is shown and not replayed", "[cli][card]") {
    const Said info = support::tidemark({"info", kState});
    CHECK(contains(info.out, "none: this is the state at one moment"));
    CHECK(contains(info.out, "_record_memory_history"));
    const json advice = tidemark_json({"advise", kState});
    CHECK(advice["is_state"] == true);
    CHECK(advice["trials"] == 0);
    CHECK(advice["findings"][0]["kind"] == "no_history");
    CHECK(advice["memory"]["in_use_bytes"] == std::uint64_t{20} * (std::uint64_t{100} << 20U));
    const std::string text = support::tidemark({"advise", kState}).out;
    CHECK_FALSE(contains(text, "Nothing helps"));
    CHECK(contains(text, "What holds it"));
    for (const char* command : {"replay", "compare", "fit", "bound"})
        CHECK(contains(support::refusal({command, kState}, 5), "no history"));
}

TEST_CASE("verify has a word of its own for nothing", "[cli][card]") {
    const Said said = support::tidemark({"verify", kState});

    CHECK(said.code == 6);
    CHECK(contains(said.out, "nothing to compare"));
    CHECK(tidemark_json({"verify", kState}, {}, 6)["compares"] == false);
    CHECK(tidemark_json({"verify", kFull})["compares"] == true);
}

TEST_CASE("what others hold of a card is no leak", "[cli][card]") {
    const json run = tidemark_json(
        {"replay", "generate:serving:events=400", "-p", "torch", "--memory", "8GiB", "--check"});

    CHECK(run["overhead_bytes"] == std::uint64_t{768} << 20U);
    CHECK(run["hazard_count"] == 0);
}

TEST_CASE("an overhead is of a card that is named", "[cli][card]") {
    const json run = tidemark_json(
        {"replay", "generate:serving:events=400", "-p", "torch", "--overhead", "1GiB"});

    CHECK(run["overhead_bytes"] == 0);
}

TEST_CASE("the command that shows a minimized trace has the overhead it was found with",
          "[cli][card]") {
    const support::Folder folder;
    const json small =
        tidemark_json({"minimize", "generate:steps:events=300", "-p", "torch", "--memory", "2GiB",
                       "--keep", "peak_reserved > 1MiB", "-o", folder / "small.jsonl"});

    CHECK(contains(small["again"], "--overhead 805306368"));
}
