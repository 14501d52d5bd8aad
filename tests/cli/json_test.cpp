// docs/json.md against the program: every key that is printed is described, and every key that is
// described is printed by some run.
#include <catch2/catch.hpp>

#include "replay/scenario/record_history.h"
#include "tests/cli/command_line.h"
#include "tests/support/json_keys.h"
#include "tests/support/live_folder.h"
#include "tests/support/own_cache.h"
#include "traces/live/publisher.h"
#include "traces/open.h"

using namespace tidemark;
using support::Folder;
using support::Keys;
using support::kSample;

namespace {

// The names in the first cells of docs/metrics.md, which has a test of its own.
bool is_metric(const std::string& key) {
    static const std::string text = support::read_file(support::project_file("docs/metrics.md"));
    return key.starts_with("calls_") || text.find("`" + key + "`") != std::string::npos;
}

struct Invocation {
    std::vector<std::string> arguments;
    int code = 0;
};

// Runs the invocations and compares the keys of their union with the section.
void check_section(const std::string& section, const std::vector<Invocation>& invocations) {
    const Keys open{"findings[].figures",
                    "kinds",
                    "settings",
                    "metadata",
                    "options",
                    "runs[].options",
                    "runs[].change",
                    "runner_ups[].peak_reserved_spread"};
    Keys printed;
    for (const Invocation& each : invocations)
        printed.merge(support::printed_keys(
            support::tidemark_json(each.arguments, {}, each.code).dump(), open));
    const Keys described = support::documented_keys(section);
    REQUIRE_FALSE(described.empty());

    INFO("section " << section);
    for (const auto& [old, now] : support::former_keys(section)) {
        INFO("formerly: " << old);
        CHECK(printed.contains(old));
        CHECK(printed.contains(now));
        const auto is_old = [&old = old](const std::string& key) {
            return key == old || key.starts_with(old + ".") || key.starts_with(old + "[");
        };
        std::erase_if(printed, is_old);
    }
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

const std::string kStreams = support::project_file("traces/samples/streams/fsdp-1.1.pickle.xz");

}  // namespace

TEST_CASE("the JSON of info is as documented", "[cli][docs]") {
    const std::string graphs = support::project_file("traces/samples/torch/graphs.pickle.xz");
    check_section(
        "info",
        {{{"info", kSample}}, {{"info", graphs}}, {{"info", "generate:steps:events=3000"}}});
}

TEST_CASE("the JSON of info --drift is as documented", "[cli][docs]") {
    check_section("info --drift", {{{"info", "--drift", kSample}}});
}

TEST_CASE("the JSON of replay is as documented", "[cli][docs]") {
    check_section("replay", {{{"replay", kSample}},
                             {{"replay", kStreams, "--spread", "4"}},
                             {{"replay", kSample, "--limit", "1GiB"}, 4},
                             {{"replay", kSample, "--touch", "--scale", "0.1", "-p", "best-fit"}}});
}

TEST_CASE("the JSON of advise is as documented", "[cli][docs]") {
    const std::string tries = "6";  // more make no other keys
    check_section(
        "advise",
        {{{"advise", kSample, "--budget", tries}},
         {{"advise", kSample, "--memory", "16GiB", "--budget", tries}},
         {{"advise", kStreams, "--spread", "4", "--budget", tries}},
         {{"advise", "generate:steps:events=30000", "--limit", "1GiB", "--budget", tries}},
         {{"advise", support::project_file("traces/samples/torch-edges/two-devices.pickle.xz"),
           "--budget", tries}},
         {{"advise", "generate:steps:events=30000", "--budget", tries}}});
    check_section("advise BEFORE AFTER", {{{"advise", kSample, "generate:mix:events=900"}}});
}

TEST_CASE("the JSON of compare is as documented", "[cli][docs]") {
    const Folder folder;
    for (const std::string rank : {"0", "1"})
        REQUIRE(support::tidemark({"generate", "steps:events=10000,seed=" + rank, "-o",
                                   folder / ("rank" + rank + ".tmk")})
                    .code == 0);
    check_section(
        "compare",
        {{{"compare", kSample, "-p", "torch", "-p", "buddy"}},
         {{"compare", kStreams, "-p", "torch", "--spread", "4", "--jitter", "2"}},
         {{"compare", folder / "rank0.tmk", folder / "rank1.tmk", "-p", "torch"}},
         {{"compare", kSample, kSample, "-p", "torch", "-p", "buddy"}},
         {{"compare", kSample, kSample, "-p", "torch", "-p", "bump", "--limit", "1GiB"}}});
}

TEST_CASE("the JSON of replay and compare over tiers is as documented", "[cli][docs]") {
    const std::string query = "generate:query:tasks=10,batch=1MiB";
    check_section("replay --spill",
                  {{{"replay", query, "--gpu-memory", "70%", "--spill", "gdsf"}}});
    check_section("compare --spill", {{{"compare", query, query, "--gpu-memory", "50%"}}});
    check_section("victims", {{{"victims"}}});
}

TEST_CASE("the JSON of scale is as documented", "[cli][docs]") {
    const support::Folder folder;
    const std::string leaking = folder / "leaking.jsonl";
    std::string lines = R"({"type":"header","version":1,"unit":"us"})"
                        "\n";
    for (int step = 0; step < 12; ++step)
        lines += fmt::format(R"({{"t":{0},"op":"begin","name":"step {0}"}}
{{"t":{0},"op":"alloc","id":{0},"bytes":4194304}}
{{"t":{0},"op":"end","name":"step {0}"}}
)",
                             step);
    support::write_file(leaking, lines);
    const std::string vision = support::project_file("traces/samples/torch/resnet.pickle.xz");
    check_section("scale", {{{"scale", kSample, "--tokens", "x2", "--fit", "20GiB"}},
                            {{"scale", vision, "--tokens", "x2"}},
                            {{"scale", leaking, "--steps", "20"}}});
}

TEST_CASE("the JSON of fit is as documented", "[cli][docs]") {
    check_section("fit", {{{"fit", kSample, "--memory", "6GiB"}},
                          {{"fit", kStreams, "--spread", "4"}},
                          {{"fit", "generate:steps:events=5000", "--limit", "4GiB"}}});
}

TEST_CASE("the JSON of minimize is as documented", "[cli][docs]") {
    const Folder folder;
    check_section("minimize", {{{"minimize", "generate:steps:events=300", "-p", "torch", "--keep",
                                 "reserved", "-o", folder / "small.jsonl"}}});
}

TEST_CASE("the JSON of bound is as documented", "[cli][docs]") {
    check_section("bound", {{{"bound", "generate:steps:events=2000", "--capacity", "1TiB"}}});
}

TEST_CASE("the JSON of gate is as documented", "[cli][docs]") {
    check_section(
        "gate",
        {{{"gate", kSample, "--fail-if", "retries > 0"}},
         {{"gate", kSample, "--fail-if", "peak_reserved > 1GiB", "--before", kStreams}, 1}});
}

TEST_CASE("the JSON of sweep is as documented", "[cli][docs]") {
    const Folder folder;
    check_section("sweep", {{{"sweep", "generate:steps:events=2000", "-o", folder / "units", "-p",
                              "bump", "-p", "torch"}},
                            {{"sweep", support::project_file("traces/samples/uses/query.jsonl.xz"),
                              "-o", folder / "tiers", "--gpu-memory", "50%"}}});
}

TEST_CASE("the JSON of report is as documented", "[cli][docs]") {
    const Folder folder;
    support::tidemark_json({"sweep", "generate:steps:events=500", "-o", folder / "swept", "-p",
                            "bump", "-p", "buddy"});
    support::tidemark_json({"sweep", support::project_file("traces/samples/uses/query.jsonl.xz"),
                            "-o", folder / "tiers", "--gpu-memory", "50%"});
    check_section("report", {{{"report", kSample, "--no-advise", "-o", folder / "page.html"}},
                             {{"report", folder / "swept", "-o", folder / "sweep.html"}},
                             {{"report", folder / "tiers", "-o", folder / "sweep.html"}}});
}

TEST_CASE("the JSON of verify is as documented", "[cli][docs]") {
    const std::string graphs = support::project_file("traces/samples/torch/graphs.pickle.xz");
    check_section("verify", {{{"verify", kSample}},
                             {{"verify", graphs}},
                             {{"verify", kSample, "-p", "torch:large_segment_size_mb=64"}, 1}});
}

TEST_CASE("the JSON of live is as documented", "[cli][docs]") {
    const support::LiveFolder folder;
    const auto publisher = live::Publisher::start({.recording = folder.file("a.tml")});
    REQUIRE(publisher);
    check_section("live", {{{"live"}}});
    // One that is kept, as this process lives.
    REQUIRE((*publisher)->close());
    const auto again = live::Publisher::start();
    REQUIRE(again);
    check_section("live --recordings", {{{"live", "--recordings"}}, {{"live", "--clean"}}});
}

TEST_CASE("the JSON of cache is as documented", "[cli][docs]") {
    const support::OwnCache cache;
    const Folder folder;
    const std::string path = folder / "run.tmk";
    REQUIRE(import_trace("generate:mix:events=3000", path));
    const auto trace = open_trace(path);
    REQUIRE(trace);
    REQUIRE(record_history(**trace, {.trace = path, .policy = "torch"}));
    check_section("cache", {{{"cache"}}, {{"cache", "--clear"}}});
}

TEST_CASE("the JSON of policies is as documented", "[cli][docs]") {
    check_section("policies", {{{"policies"}}});
}

TEST_CASE("the JSON of calibrate is as documented", "[cli][docs]") {
    const Folder folder;
    check_section("calibrate",
                  {{{"calibrate", "-o", folder / "card.json", "--device", "sim:h200", "--quick"}}});
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
