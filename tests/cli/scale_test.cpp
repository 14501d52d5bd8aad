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
    CHECK(said.err == "");
}

TEST_CASE("shapes make a batch and a length of steps of one size", "[cli][scale]") {
    const std::string path = support::project_file("traces/samples/shapes/stablelm.tml.xz");
    const Said said =
        support::tidemark({"scale", path, "--batch", "12", "--fit", "8GiB", "-p", "torch"});
    CHECK(said.code == 0);
    CHECK(contains(said.out, "4 steps, of batch 6, length 384"));
    CHECK(contains(said.out, "every step, batch x2"));
    CHECK(contains(said.out, "sizes grow by their operators' shapes"));
    const json rows = support::tidemark_json({"scale", path, "--length", "768", "-p", "torch"});
    CHECK(rows["recorded_batch"] == 6);
    CHECK(rows["recorded_length"] == 384);
    CHECK(rows["length_growth"] == 2);
    CHECK(rows["sizes_known"] == false);
    // A line beside other answers.
    const Said fit = support::tidemark({"fit", path, "--memory", "8GiB"});
    CHECK(contains(fit.out, "Largest batch that fits (recorded: 6): "));
}

TEST_CASE("the run that scale writes peaks as it says", "[cli][scale]") {
    const support::Folder folder;
    const std::string path = folder / "twice.tmk";
    const json report = json::parse(
        support::tidemark({"scale", kSample, "--tokens", "x2", "-p", "torch", "--json", "-o", path})
            .out);
    CHECK(report["batch_growth"] == 2);
    CHECK(support::tidemark_json({"scale", kSample, "--tokens", "24/12", "-p", "torch"})["rows"] ==
          report["rows"]);
    const json replayed = support::tidemark_json({"replay", path, "-p", "torch"});
    CHECK(report["rows"][0]["peak_reserved_bytes"] == replayed["peak_reserved_bytes"]);
    CHECK(support::tidemark({"scale", kSample, "--tokens", "x2", "-o", path}).code !=
          0);  // --force
}

TEST_CASE("one larger step behind the recorded ones, and more steps", "[cli][scale]") {
    const support::Folder folder;
    const std::string path = folder / "more.tmk";
    const json report = support::tidemark_json(
        {"scale", kSample, "--tokens", "x2", "-p", "torch", "--one-more", "--fit", "16GiB"});
    const json& row = report["rows"][0];
    CHECK(row["one_more_peak_reserved_bytes"] < row["peak_reserved_bytes"]);
    CHECK(row["held_back_predicted_bytes"] == row["held_back_bytes"]);
    REQUIRE(
        support::tidemark({"scale", kSample, "--tokens", "x2", "--one-more", "-o", path}).code ==
        0);
    CHECK(row["one_more_peak_reserved_bytes"] ==
          support::tidemark_json({"replay", path, "-p", "torch"})["peak_reserved_bytes"]);
    const Said more = support::tidemark({"scale", kSample, "--steps", "100", "-p", "torch"});
    CHECK(more.code == 0);
    CHECK(contains(more.out, "100 steps"));
}

TEST_CASE("ranks answer together: the largest peaks, and what fits all", "[cli][scale]") {
    const std::string other = support::project_file("traces/samples/torch/gpt2_var-exp.pickle.xz");
    const std::vector<std::string> options{"--tokens", "x2",    "--fit", "16GiB",
                                           "-p",       "torch", "-p",    "extent"};
    const auto rows_of = [&](std::vector<std::string> line) {
        line.insert(line.begin(), "scale");
        line.insert(line.end(), options.begin(), options.end());
        const json answer = support::tidemark_json(line);
        json rows;
        for (const json& row : answer["rows"])
            rows[row["policy"]] = row;
        return rows;
    };
    const json one = rows_of({kSample}), two = rows_of({other}), both = rows_of({kSample, other});
    REQUIRE(both.size() == 2);
    for (const auto& [policy, row] : both.items()) {
        for (const char* peak : {"peak_reserved_bytes", "peak_reserved_most_bytes",
                                 "one_more_peak_reserved_bytes", "before_peak_reserved_bytes"})
            CHECK(row[peak] == std::max(one[policy][peak], two[policy][peak]));
        CHECK(row["largest_growth_surely"] ==
              std::min(one[policy]["largest_growth_surely"], two[policy]["largest_growth_surely"]));
    }
    const support::Folder folder;
    CHECK(contains(
        support::refusal({"scale", kSample, other, "--tokens", "x2", "-o", folder / "both.tmk"}),
        "one recording at a time"));
}

TEST_CASE("fit and advise end with how much larger steps can be", "[cli][scale]") {
    const json fitted =
        support::tidemark_json({"fit", kSample, "--memory", "16GiB", "-p", "extent"});
    CHECK(fitted["largest_steps"].size() == 2);
    CHECK(fitted["largest_steps"][0]["recorded"] == true);
    CHECK(fitted["largest_steps"][0]["growth_surely"] > 1.5);
    const std::string line = "Largest steps that fit, relative to those recorded";
    CHECK(contains(support::tidemark({"fit", kSample, "--memory", "16GiB"}).out, line));
    CHECK(contains(support::tidemark({"advise", kSample, "--memory", "8GiB"}).out, line));
    CHECK_FALSE(contains(support::tidemark({"fit", kSample}).out, line));
}

TEST_CASE("what scale can't be rows_of is said", "[cli][scale]") {
    const auto refused = [](const std::vector<std::string>& options, const std::string& why) {
        std::vector<std::string> arguments{"scale", kSample};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const Said said = support::tidemark(arguments);
        CHECK(said.code == 2);
        CHECK(contains(said.err, why));
    };
    refused({}, "no growth is given");
    refused({"--tokens", "2"}, "'2' instead of what? This recording doesn't say");
    refused({"--batch", "2x"}, "'2x' is not a growth");
    for (const char* none : {"24/", "/16", "x2/1", "0/16", "24/0", "24/16/8", "a"})
        refused({"--tokens", none}, "is not a growth");
    refused({"--tokens", "x0"}, "'x0' is not a growth");
    refused({"--tokens", "x1000"}, "1000 is not above 0");
    refused({"--tokens", "x2", "--batch", "x2"}, "contradicts");
    refused({"--length", "x2"}, "do not tell sequence length from batch size");
    refused({"--steps", "3"}, "3 is not from the 6 steps recorded");
    refused({"--steps", "1000000"}, "more than 200,000,000");
    refused({"--tokens", "x2", "--along", "batch"}, "needs --fit");
    refused({"--tokens", "x2", "--overhead", "1GiB"}, "needs --fit");
    refused({"--tokens", "x2", "--one-more"}, "needs --fit and -o");
    refused({"--steps", "10", "--one-more", "--fit", "8GiB"}, "contradicts --steps");
}
