// replay, compare and verify: what they print, and what their exit codes say.
#include <algorithm>
#include <regex>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::kSample;
using support::kSteps;
using support::Said;

namespace {

// What differs from run to run, taken out.
json without_times(json value) {
    if (value.is_object()) {
        value.erase("elapsed_ns");
        value.erase("elapsed_total_ns");
        value.erase("provenance");
    }
    for (auto& each : value)
        if (each.is_structured())
            each = without_times(each);
    return value;
}

bool is_ascii(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char letter) {
        return letter == '\n' || (letter >= ' ' && letter <= '~');
    });
}

std::size_t longest_line(const std::string& text) {
    std::size_t longest = 0;
    std::size_t length = 0;
    for (const char letter : text) {
        if (letter == '\n')
            length = 0;
        else if ((static_cast<unsigned char>(letter) & 0xc0U) != 0x80U)
            longest = std::max(longest, ++length);
    }
    return longest;
}

}  // namespace

TEST_CASE("replay prints plain text when piped", "[cli]") {
    const Said said = support::tidemark({"replay", kSteps, "-p", "torch"},
                                        {.environment = {{"LC_ALL", "C.UTF-8"}}});

    CHECK(said.code == 0);
    CHECK(is_ascii(said.out));
    CHECK(contains(said.out, "reserved"));
    CHECK(contains(said.out, "# allocated"));
    CHECK(contains(said.out, "peak reserved / peak requested"));
}

TEST_CASE("replay draws with colours and blocks as wide as the terminal", "[cli]") {
    const Said wide = support::tidemark(
        {"replay", kSteps, "-p", "torch"},
        {.environment = {{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}}, .terminal_width = 110});
    const Said narrow = support::tidemark(
        {"replay", kSteps, "-p", "torch"},
        {.environment = {{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}, {"NO_COLOR", "1"}},
         .terminal_width = 60});
    const std::string chart = narrow.out.substr(narrow.out.find("Device\n"));

    CHECK(wide.code == 0);
    CHECK(contains(wide.out, "\x1b["));
    CHECK(contains(wide.out, "█"));
    CHECK(!contains(narrow.out, "\x1b["));
    CHECK(contains(narrow.out, "█"));
    CHECK(longest_line(chart) <= 60);
}

TEST_CASE("replay is the same every time", "[cli]") {
    const std::vector<std::string> arguments{"replay", kSteps, "-p", "best-fit"};

    const json one = support::tidemark_json(arguments);
    const json two = support::tidemark_json(arguments);

    CHECK(without_times(one) == without_times(two));
    CHECK(one["elapsed_ns"].get<std::int64_t>() > 0);
    CHECK(one["policy"] == "best-fit");
}

TEST_CASE("checked and unchecked replays give the same result", "[cli]") {
    json plain = without_times(support::tidemark_json({"replay", kSteps, "-p", "torch"}));
    json checked =
        without_times(support::tidemark_json({"replay", kSteps, "-p", "torch", "--check"}));
    plain.erase("check");
    checked.erase("check");

    CHECK(plain == checked);
    CHECK(checked["hazard_count"] == 0);
}

TEST_CASE("a policy that refuses what the program was granted ends with exit code 4", "[cli]") {
    const Said said = support::tidemark({"replay", kSteps, "-p", "torch", "--limit", "256MiB"});
    const json all =
        support::tidemark_json({"replay", kSteps, "-p", "torch", "--limit", "256MiB"}, {}, 4);
    const json first = support::tidemark_json(
        {"replay", kSteps, "-p", "torch", "--memory", "256MiB", "--overhead", "0", "--until-fail"},
        {}, 4);

    CHECK(said.code == 4);
    CHECK(contains(said.out, "limit reached"));
    CHECK(all["out_of_memory"] > 1);
    CHECK(first["out_of_memory"] == 1);
    CHECK(first["out_of_memory_events"][0]["bytes"] > 0);
}

TEST_CASE("replay of a recording without --policy takes the recorded one", "[cli]") {
    const json run = support::tidemark_json({"replay", kSample});
    const Said unknown = support::tidemark({"replay", kSteps});

    CHECK(run["policy"] == "torch");
    CHECK(run["out_of_memory"] == 0);
    CHECK(unknown.code == 2);
    CHECK(contains(unknown.err, "--policy"));
}

TEST_CASE("compare runs what can be set unless told which", "[cli]") {
    const Said said = support::tidemark({"compare", kSample});
    const json answer = support::tidemark_json({"compare", kSample});

    CHECK(said.code == 0);
    CHECK(is_ascii(said.out));
    CHECK(contains(said.out, "| policy "));
    CHECK(contains(said.out, " baseline | "));
    CHECK(!contains(said.out, "**"));
    CHECK(answer["runs"].size() >= 3);
    CHECK(contains(said.out, answer["verdict"].get<std::string>()));
    const auto baselines = std::count_if(answer["runs"].begin(), answer["runs"].end(),
                                         [](const json& run) { return run["baseline"] == true; });
    CHECK(baselines == 1);
}

TEST_CASE("compare marks the best in Markdown and on a terminal, never when piped", "[cli]") {
    const std::vector<std::string> arguments{"compare", kSteps, "-p", "cuda-malloc", "-p", "bump"};
    std::vector<std::string> markdown = arguments;
    markdown.emplace_back("--markdown");

    CHECK(!contains(support::tidemark(arguments).out, "**"));
    CHECK(contains(support::tidemark(markdown).out, "**"));
    CHECK(contains(
        support::tidemark(arguments, {.environment = {{"TERM", "xterm"}}, .terminal_width = 200})
            .out,
        "\x1b[1m"));
}

TEST_CASE("compare gives the same answer on one thread as on many", "[cli]") {
    std::vector<std::string> arguments{"compare", kSteps, "generate:serving:events=3000"};
    for (const std::string policy : {"torch", "best-fit", "buddy", "bump", "cuda-malloc"})
        arguments.insert(arguments.end(), {"-p", policy});
    std::vector<std::string> alone = arguments;
    alone.insert(alone.end(), {"-j", "1"});
    arguments.insert(arguments.end(), {"-j", "8"});

    const json one = support::tidemark_json(alone);
    const json many = support::tidemark_json(arguments);

    CHECK(without_times(one) == without_times(many));
    CHECK(one["runs"].size() == 10);
    CHECK(one["totals"].size() == 5);
}

TEST_CASE("verify finds no difference in recordings of the real allocator", "[cli][truth]") {
    for (const std::string name : {"gpt2_var", "multistream", "gpt2_var-ring"}) {
        const std::string path =
            support::project_file("traces/samples/torch/" + name + ".pickle.xz");
        const Said said = support::tidemark({"verify", path});
        INFO(said.out << said.err);
        CHECK(said.code == 0);
        CHECK(contains(said.out, "every decision matches the recording"));
    }
}

TEST_CASE("verify under wrong settings shows the first difference and ends with 1", "[cli]") {
    const std::vector<std::string> arguments{"verify", kSample, "-p",
                                             "torch:large_segment_size_mb=64"};
    const Said said = support::tidemark(arguments);
    const json answer = support::tidemark_json(arguments, {}, 1);

    CHECK(said.code == 1);
    CHECK(contains(said.out, "First difference: event "));
    CHECK(contains(said.out, "recorded  "));
    CHECK(answer["mismatches"] > 0);
    CHECK(!answer["first_mismatch"]["neighbourhood"].empty());
}

TEST_CASE("verify says so when a trace has no recorded decisions", "[cli]") {
    const Said unknown = support::tidemark({"verify", kSteps});
    const Said said = support::tidemark({"verify", kSteps, "-p", "torch"});

    CHECK(unknown.code == 2);
    CHECK(said.code == 5);
    CHECK(said.out.empty());
    CHECK(said.err.starts_with("tidemark: "));
}

TEST_CASE("a number too many for a table cell stays in its column", "[cli]") {
    const Said said = support::tidemark({"compare", kSteps, "-p", "torch", "-p", "bump"});
    std::smatch rule;
    REQUIRE(std::regex_search(said.out, rule, std::regex("\\n(\\| -[^\\n]*)\\n")));
    std::size_t rows = 0;
    std::istringstream lines(said.out);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("|")) {
            CHECK(line.size() == rule[1].str().size());
            ++rows;
        }
    }

    CHECK(rows == 4);
}
