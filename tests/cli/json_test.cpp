// docs/json.md against the program: every key that is printed is described, and every key that is
// described is printed by some run.
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace tidemark;
using nlohmann::json;
using support::Folder;
using Keys = std::set<std::string>;

namespace {

// "streams[].handle", "provenance.version": every key with the way to it. Under `open` keys the
// names are the user's: "settings.*".
void collect(const json& value, const std::string& way, const Keys& open, Keys& found) {
    if (value.is_array()) {
        for (const json& each : value)
            collect(each, way + "[]", open, found);
        return;
    }
    if (!value.is_object())
        return;
    for (const auto& [key, each] : value.items()) {
        const std::string name = open.contains(way) ? "*" : key;
        const std::string here = way.empty() ? name : way + "." + name;
        found.insert(here);
        collect(each, here, open, found);
    }
}

// Keys in the first cells of the tables under "## `section`".
Keys documented(const std::string& text, const std::string& section) {
    const std::size_t begin = text.find("## `" + section + "`");
    REQUIRE(begin != std::string::npos);
    const std::size_t end = text.find("\n## ", begin + 1);
    Keys keys;
    std::istringstream lines(text.substr(begin, end - begin));
    const std::regex name("`([^`]+)`");
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `"))
            continue;
        const std::string cell = line.substr(0, line.find('|', 1));
        for (std::sregex_iterator i(cell.begin(), cell.end(), name), stop; i != stop; ++i)
            keys.insert((*i)[1]);
    }
    return keys;
}

// The names in the first cells of docs/metrics.md, which has a test of its own.
bool is_metric(const std::string& key) {
    static const std::string text = support::read_file(support::project_file("docs/metrics.md"));
    return key.starts_with("calls_") || text.find("`" + key + "`") != std::string::npos;
}

struct Invocation {
    std::vector<std::string> words;
    int code = 0;
};

// Runs the invocations and compares the keys of their union with the section.
void check_section(const std::string& section, const std::vector<Invocation>& invocations) {
    const Keys open{"kinds", "settings", "metadata", "options", "runs[].options", "runs[].change"};
    Keys printed;
    for (const Invocation& each : invocations)
        collect(json::parse(support::tidemark_json(each.words, each.code)), "", open, printed);
    const Keys described =
        documented(support::read_file(support::project_file("docs/json.md")), section);

    INFO("section " << section);
    for (const std::string& key : printed) {
        const std::size_t dot = key.rfind('.');
        const bool metric = (section == "replay" && dot == std::string::npos) ||
                            (section == "compare" && key.starts_with("runs[]."));
        INFO("printed: " << key);
        CHECK((described.contains(key) ||
               (metric && is_metric(dot == std::string::npos ? key : key.substr(dot + 1)))));
    }
    for (const std::string& key : described) {
        INFO("described: " << key);
        CHECK(printed.contains(key));
    }
}

const std::string kSample = support::project_file("traces/samples/gpt2_var.pickle.xz");

}  // namespace

TEST_CASE("the JSON of info is as documented", "[cli][docs]") {
    check_section("info", {{{"info", kSample}}, {{"info", "generate:steps:events=3000"}}});
}

TEST_CASE("the JSON of replay is as documented", "[cli][docs]") {
    check_section("replay", {{{"replay", kSample}}, {{"replay", kSample, "--limit", "1GiB"}, 4}});
}

TEST_CASE("the JSON of advise is as documented", "[cli][docs]") {
    check_section("advise", {{{"advise", kSample}}, {{"advise", "generate:steps:events=30000"}}});
    check_section("advise BEFORE AFTER", {{{"advise", kSample, "generate:mix:events=900"}}});
}

TEST_CASE("the JSON of compare is as documented", "[cli][docs]") {
    check_section(
        "compare",
        {{{"compare", kSample, "-p", "torch", "-p", "buddy"}},
         {{"compare", kSample, kSample, "-p", "torch", "-p", "bump", "--limit", "1GiB"}}});
}

TEST_CASE("the JSON of fit is as documented", "[cli][docs]") {
    check_section("fit", {{{"fit", kSample, "--memory", "6GiB"}},
                          {{"fit", "generate:steps:events=5000", "--limit", "4GiB"}}});
}

TEST_CASE("the JSON of verify is as documented", "[cli][docs]") {
    const std::string graphs = support::project_file("traces/samples/graphs.pickle.xz");
    check_section("verify", {{{"verify", kSample}},
                             {{"verify", graphs}},
                             {{"verify", kSample, "-p", "torch:large_segment_size_mb=64"}, 1}});
}

TEST_CASE("the JSON of policies is as documented", "[cli][docs]") {
    check_section("policies", {{{"policies"}}});
}

TEST_CASE("the JSON of generate without a name is as documented", "[cli][docs]") {
    check_section("generate", {{{"generate"}}});
}

TEST_CASE("the JSON of import, export and generate is as documented", "[cli][docs]") {
    const Folder folder;
    check_section("import", {{{"import", kSample, "-o", folder / "a.tmk"}},
                             {{"export", folder / "a.tmk", "-o", folder / "a.jsonl"}},
                             {{"generate", "mix:events=100", "-o", folder / "b.tmk"}}});
}
