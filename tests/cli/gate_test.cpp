// gate: as people's CI runs it. The workflow of the guide is run as it stands there.
#include <cstdlib>
#include <filesystem>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::kSteps;
using support::Said;
using support::tidemark_json;

namespace {

// The commands behind each `run:` of the guide's workflow.
std::vector<std::string> workflow_steps(const std::string& guide) {
    std::vector<std::string> steps;
    const std::size_t begin = guide.find("```yaml\n");
    REQUIRE(begin != std::string::npos);
    std::istringstream lines(guide.substr(begin, guide.find("```\n", begin + 1) - begin));
    const std::string inside(10, ' ');
    bool within = false;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t run = line.find("run: ");
        within = within && line.starts_with(inside);
        if (within)
            steps.back() += line + "\n";
        if (run == std::string::npos || line.find("runs-on") != std::string::npos)
            continue;
        within = line.ends_with("|");
        steps.push_back(within ? "" : line.substr(run + 5));
    }
    return steps;
}

// Runs a job's steps as GitHub does: `bash -e`, one after the other, up to the first that fails.
int run_job(const Folder& folder, const std::vector<std::string>& steps, const std::string& trace) {
    support::write_file(folder / "bin/python",
                        fmt::format("#!/bin/sh\nexec cp '{}' \"$5\"\n", trace));
    support::write_file(folder / "bin/tidemark",
                        fmt::format("#!/bin/sh\nexec '{}' \"$@\"\n", TIDEMARK_PROGRAM));
    for (const char* tool : {"bin/python", "bin/tidemark"})
        std::filesystem::permissions(folder / tool, std::filesystem::perms::owner_all);
    for (const std::string& step : steps) {
        support::write_file(folder / "step.sh", step);
        const std::string command = fmt::format(
            "cd '{0}' && PATH='{0}/bin':$PATH GITHUB_STEP_SUMMARY='{0}/summary.md' "
            "bash -e step.sh > out.txt 2> log.txt",
            folder.path());
        const int status = std::system(command.c_str());
        if (const int code = WEXITSTATUS(status); code != 0)
            return code;
    }
    return 0;
}

}  // namespace

TEST_CASE("the workflow of the guide to gates passes on the baseline's run and fails on a larger",
          "[cli][gate][docs]") {
    const Folder folder;
    for (const char* name : {"bin", "ci"})
        std::filesystem::create_directory(folder / name);
    const auto steps =
        workflow_steps(support::read_file(support::project_file("docs/guide/gate.md")));
    REQUIRE(steps.size() == 2);
    const std::string before = support::project_file("traces/samples/torch/graphs.pickle.xz");
    const std::string& after = support::kSample;  // of another, larger program
    REQUIRE(
        support::tidemark({"gate", before, "--write-baseline", folder / "ci/baseline.json"}).code ==
        0);

    CHECK(run_job(folder, steps, before) == 0);
    CHECK(contains(support::read_file(folder / "summary.md"), "4 budgets kept"));
    CHECK(contains(support::read_file(folder / "gate.xml"), "tests=\"4\" failures=\"0\""));
    CHECK(support::read_file(folder / "log.txt").empty());

    CHECK(run_job(folder, steps, after) == 1);
    CHECK(contains(support::read_file(folder / "summary.md"),
                   "| **broken** | `peak_reserved > +2%`"));
    CHECK(contains(support::read_file(folder / "gate.xml"),
                   "<failure message=\"peak_reserved_bytes"));
    CHECK(contains(support::read_file(folder / "log.txt"), "broken: peak_reserved > +2%: "));
}

TEST_CASE("gate says a line for each broken budget and ends with 1", "[cli][gate]") {
    const Said broken =
        support::tidemark({"gate", kSteps, "-p", "torch", "--fail-if", "peak_reserved > 1MiB",
                           "--fail-if", "device_calls < 1", "--fail-if", "driver > 1ns"});
    CHECK(broken.code == 1);
    CHECK(contains(broken.out, "broken: peak_reserved > 1MiB: "));
    CHECK(contains(broken.out, "broken: driver > 1ns: "));
    CHECK_FALSE(contains(broken.out, "device_calls"));
    CHECK(contains(broken.out, "under torch: 2 of 4 budgets broken\n"));
    CHECK(broken.err == "");
}

TEST_CASE("where a budget is broken gate says what grew since the trace before", "[cli][gate]") {
    const std::string larger = "generate:steps:events=5000,seed=2";
    const std::vector<std::string> broken{
        "gate", larger, "-p", "torch", "--fail-if", "peak_reserved > 1MiB", "--before", kSteps};
    const Said said = support::tidemark(broken);
    CHECK(said.code == 1);
    CHECK(contains(said.out, support::tidemark({"advise", kSteps, larger}).out));

    const Said kept = support::tidemark(
        {"gate", larger, "-p", "torch", "--fail-if", "peak_reserved > 1TiB", "--before", kSteps});
    CHECK(kept.code == 0);
    CHECK_FALSE(contains(kept.out, "live at the end"));
}

TEST_CASE("a baseline is what replay prints or gate writes, byte for byte again", "[cli][gate]") {
    const Folder folder;
    const std::vector<std::string> write{"gate", kSteps, "-p", "torch", "--write-baseline"};
    const auto written = [&](const std::string& name) {
        std::vector<std::string> line = write;
        line.push_back(folder / name);
        REQUIRE(support::tidemark(line).code == 0);
        CHECK(support::tidemark(line).code == 0);  // it may be written over
        return json::parse(support::read_file(folder / name));
    };
    json first = written("a.json");
    json second = written("b.json");
    json replayed = tidemark_json({"replay", kSteps, "-p", "torch"});
    support::write_file(folder / "c.json", replayed.dump());
    for (json* each : {&first, &second, &replayed})
        for (const char* key : {"provenance", "elapsed_ns", "elapsed_total_ns", "trace"})
            each->erase(key);
    CHECK(first == second);
    CHECK(first == replayed);

    for (const char* name : {"a.json", "c.json"}) {
        const json answer = tidemark_json({"gate", kSteps, "-p", "torch", "--baseline",
                                           folder / name, "--fail-if", "peak_reserved > +0%"});
        CHECK(answer["passed"] == true);
        CHECK(answer["warnings"].empty());
        CHECK(answer["budgets"][0]["value"] == first["peak_reserved_bytes"]);
        CHECK(answer["budgets"][0]["baseline"] == first["peak_reserved_bytes"]);
    }
    const json worse = tidemark_json({"gate", kSteps, "-p", "bump", "--baseline", folder / "a.json",
                                      "--fail-if", "peak_reserved > +0%"},
                                     {}, 1);
    CHECK(worse["broken"] == 1);
    CHECK(worse["warnings"].size() == 1);
}

TEST_CASE("gate's wrong usage and bad input are told before a trace is opened", "[cli][gate]") {
    const Folder folder;
    support::write_file(folder / "no.json", "[1]");
    const auto refused = [](std::vector<std::string> rest, int code) {
        rest.insert(rest.begin(), {"gate", "no-such-file.tmk"});
        return support::refusal(rest, code);
    };
    CHECK(contains(refused({}, 2), "there is no budget"));
    CHECK(contains(refused({"--fail-if", "peak > 3"}, 2), "--fail-if: "));
    CHECK(contains(refused({"--fail-if", "retries > +0"}, 2), "--baseline"));
    CHECK(
        contains(refused({"--fail-if", "retries > +0", "--baseline", folder / "gone"}, 3), "gone"));
    CHECK(contains(refused({"--fail-if", "retries > +0", "--baseline", folder / "no.json"}, 3),
                   "expected an object"));
    CHECK(contains(refused({"--fail-if", "retries > 0"}, 3), "no-such-file.tmk"));
}
