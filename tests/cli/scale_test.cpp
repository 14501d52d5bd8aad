// scale: what it prints, and the file it writes.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::kSample;
using support::Said;

TEST_CASE("scale tells how sizes grow, and the peaks of each setting", "[cli][scale]") {
    const Said said = support::tidemark({"scale", kSample, "--tokens", "x2", "--fit", "24GiB"});
    CHECK(said.code == 0);
    CHECK(contains(said.out, "gpt2_var.pickle.xz: 6 steps"));
    CHECK(contains(said.out, "grow in proportion or with a power"));
    CHECK(contains(said.out, "torch (as recorded)"));
    CHECK(contains(said.out, "largest step on 24.0 GiB"));
    CHECK(said.err.empty());
}

TEST_CASE("the run that scale writes peaks as it says", "[cli][scale]") {
    const support::Folder folder;
    const std::string path = folder / "twice.tmk";
    const json report = json::parse(
        support::tidemark({"scale", kSample, "--tokens", "x2", "-p", "torch", "--json", "-o", path})
            .out);
    const json replayed = support::tidemark_json({"replay", path, "-p", "torch"});
    CHECK(report["rows"][0]["peak_reserved_bytes"] == replayed["peak_reserved_bytes"]);
    CHECK(support::tidemark({"scale", kSample, "--tokens", "x2", "-o", path}).code !=
          0);  // --force
}

TEST_CASE("what scale can't be asked is said", "[cli][scale]") {
    const auto refused = [](const std::vector<std::string>& options, const std::string& why) {
        std::vector<std::string> arguments{"scale", kSample};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Said said = support::tidemark(arguments);
        CHECK(said.code == 2);
        CHECK(contains(said.err, why));
    };
    refused({}, "says no growth");
    refused({"--tokens", "2"}, "'2' is no growth");
    refused({"--tokens", "x0"}, "'x0' is no growth");
    refused({"--tokens", "x1000"}, "1000 is not above 0");
    refused({"--tokens", "x2", "--batch", "x2"}, "contradicts");
    refused({"--length", "x2"}, "does not tell length from batch");
}
