// tidemark minimize, as a user runs it.
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::Folder;
using support::kSample;
using support::refusal;
using support::Said;

namespace {

// The arguments of a command that was printed, without its `tidemark`.
std::vector<std::string> arguments_of(const std::string& command) {
    std::istringstream text(command);
    std::vector<std::string> arguments;
    for (std::string word; text >> word;)
        arguments.push_back(word);
    arguments.erase(arguments.begin());
    return arguments;
}

}  // namespace

TEST_CASE("the smallest trace shows it when it is replayed as the answer says", "[cli][minimize]") {
    const Folder folder;
    for (const std::string ending : {"jsonl", "tmk"}) {
        const std::string small = folder / "small." + ending;
        const json answer =
            support::tidemark_json({"minimize", "generate:steps:events=2000", "-p", "torch",
                                    "--keep", "retries >= 2 and reserved > 1MiB", "--memory",
                                    "11GiB", "--limit", "1GiB", "-o", small});
        CHECK(answer.at("complete") == true);
        CHECK(answer.at("events") < answer.at("events_before"));
        CHECK(answer.at("condition") == "retries >= 2 and peak_reserved_bytes > 1MiB");
        const json again = support::tidemark_json(arguments_of(answer.at("again")), {}, 4);
        CHECK(again.at("retries") >= 2);
        CHECK(again.at("retries") == answer.at("figures").at(0).at("after"));
        CHECK(support::tidemark_json({"info", small}).at("allocations") ==
              answer.at("allocations"));
    }
    CHECK(folder.names() == std::vector<std::string>{"small.jsonl", "small.tmk"});
}

TEST_CASE("a recording is minimized under its own policy and settings", "[cli][minimize]") {
    const Folder folder;
    const std::string small = folder / "small.jsonl";
    const Said said =
        support::tidemark({"minimize", kSample, "--keep", "reserved > 3GiB", "-o", small});
    INFO(said.err);
    REQUIRE(said.code == 0);
    CHECK(support::contains(said.out, "no further allocation can be left out"));
    const std::string begin = "To see it: ";
    const std::string command = said.out.substr(said.out.find(begin) + begin.size());
    const json again = support::tidemark_json(arguments_of(command));
    CHECK(again.at("policy") == "torch");
    CHECK(again.at("peak_reserved_bytes") > 3ULL << 30U);
    const json info = support::tidemark_json({"info", small});
    CHECK(info.at("metadata").at("shows") == "peak_reserved_bytes > 3GiB");
}

TEST_CASE("what minimize can't do is said before it searches, and no file is left",
          "[cli][minimize]") {
    const Folder folder;
    const std::string out = folder / "small.jsonl";
    const std::string steps = support::kSteps;
    CHECK(support::contains(
        refusal({"minimize", steps, "-p", "torch", "--keep", "reserved > 1TiB", "-o", out}),
        "doesn't show it"));
    CHECK(support::contains(refusal({"minimize", "/none", "--keep", "reservd > 1GiB", "-o", out}),
                            "did you mean reserved?"));
    CHECK(support::contains(refusal({"minimize", steps, "--keep", "retries", "-o", "-"}), "-o -"));
    refusal({"minimize", steps, "--keep", "retries", "-o", folder / "small.txt"});
    refusal({"minimize", steps, "-o", out});
    CHECK(folder.names().empty());
}
