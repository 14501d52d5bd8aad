// replay and compare over tiers, the catalogue of victim policies, and generators with uses, as a
// user meets them.
#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/json_keys.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::Said;
using support::tidemark_json;

namespace {

const std::string kScan =
    "generate:adversarial:events=3000,working_set=1GiB,buffer=16MiB,pattern=scan";
const std::string kQuery = "generate:query:tasks=30,batch=4MiB";
const std::string kTraining =
    "generate:training:steps=3,layers=3,hidden=256,sequence=256,vocabulary=1000";

using Arguments = std::vector<std::string>;

}  // namespace

TEST_CASE("--gpu-memory, --spill, --machine or another word of tiers replays over tiers",
          "[cli][tiers]") {
    const std::vector<Arguments> each{
        {"--gpu-memory", "50%"},     {"--spill", "largest"},
        {"--machine", "h200-node"},  {"--prefetch", "none"},
        {"--reservation", "wait"},   {"--over-reservation", "increase"},
        {"--host-memory", "100GiB"}, {"--spill-start", "90%", "--spill-stop", "0.8"},
        {"--forget-copies"},
    };
    for (const Arguments& arguments : each) {
        Arguments all{"replay", kScan};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const Said said = support::tidemark(all);
        INFO(arguments.front() << said.err);
        CHECK(said.code == 0);
        CHECK(contains(said.out, "on h200-node under "));
        CHECK(contains(said.out, "slowdown"));
    }
    CHECK_FALSE(contains(support::tidemark({"replay", kScan}).out, "slowdown"));
}

TEST_CASE("less memory moves more, none missing moves nothing", "[cli][tiers]") {
    std::uint64_t before = 0;
    for (const char* memory : {"100%", "90%", "50%", "20%"}) {
        const json run = tidemark_json({"replay", kScan, "--gpu-memory", memory});
        const auto moved = run["moved_bytes"].get<std::uint64_t>();
        INFO(memory);
        CHECK(run["moved_bytes"] == run["spilled_bytes"].get<std::uint64_t>() +
                                        run["fetched_bytes"].get<std::uint64_t>());
        CHECK((std::string(memory) == "100%") == (moved == 0));
        CHECK(moved >= before);
        CHECK(run["slowdown"].get<double>() >= 1);
        before = moved;
    }
}

TEST_CASE("what a replay is told is what it says it was told", "[cli][tiers]") {
    const json run = tidemark_json({"replay",
                                    kQuery,
                                    "--machine",
                                    "two-gpu",
                                    "--gpu-memory",
                                    "1GiB",
                                    "--spill",
                                    "s3fifo",
                                    "--prefetch",
                                    "none",
                                    "--reservation",
                                    "up-to",
                                    "--over-reservation",
                                    "increase",
                                    "--host-memory",
                                    "64GiB",
                                    "--spill-start",
                                    "90%",
                                    "--spill-stop",
                                    "75%",
                                    "--padding",
                                    "2",
                                    "--beyond-limit",
                                    "--reservation-limit",
                                    "85%",
                                    "--forget-copies"});

    CHECK(run["machine"] == "two-gpu");
    CHECK(run["gpu_memory_bytes"] == 1 << 30);
    CHECK(run["gpu_memory_share"].is_null());
    CHECK(run["policy"] == "s3fifo");
    CHECK(run["prefetch"] == "none");
    CHECK(run["reservation"] == "up-to");
    CHECK(run["over_reservation"] == "increase");
    CHECK(run["padding"] == 2);
    CHECK(run["beyond_limit"] == true);
    CHECK(run["reservation_limit"] == 0.85);
    CHECK(run["host_memory_bytes"] == std::uint64_t{64} << 30);
    CHECK(run["spill_start"] == 0.9);
    CHECK(run["spill_stop"] == 0.75);
    CHECK(run["keep_copies"] == false);
    CHECK(run["reservations"] == 30);
    CHECK(run["provenance"]["machine_hash"].get<std::string>().size() == 16);
    CHECK(run["provenance"]["trace_hash"] !=
          tidemark_json({"replay", kScan, "--spill", "lru"})["provenance"]["trace_hash"]);
}

TEST_CASE("how a reservation grows is asked of increase alone, in numbers", "[cli][tiers]") {
    const auto refused = [](std::vector<std::string> more, const char* why) {
        Arguments all{"replay", kScan, "--gpu-memory", "50%"};
        all.insert(all.end(), more.begin(), more.end());
        const Said said = support::tidemark(all);
        CHECK(said.code == 2);
        CHECK(contains(said.err, why));
    };
    refused({"--padding", "2"}, "--padding: needs --over-reservation increase");
    refused({"--beyond-limit"}, "--beyond-limit: needs --over-reservation increase");
    for (const char* padding : {"0.5", "x", "1e9", "nan", "inf"})
        refused({"--over-reservation", "increase", "--padding", padding}, "is not from 1 to 1000");
    refused({"--reservation-limit", "120%"}, "'120%' is not a share of memory");
}

TEST_CASE("options of allocator policies and of tiers contradict each other, with what to say",
          "[cli][tiers]") {
    const std::vector<std::pair<Arguments, std::string>> wrong{
        {{"replay", kScan, "--spill", "lru", "--policy", "torch"}, "--spill names"},
        {{"replay", kScan, "--gpu-memory", "60%", "--memory", "8GiB"}, "--gpu-memory is the size"},
        {{"replay", kScan, "--machine", "h200-node", "--device", "sim:h200"}, "--machine names"},
        {{"replay", kScan, "--spill", "lru", "--decisions", "x"}, "--timeline"},
        {{"replay", kScan, "--spill", "lru", "--check"}, "contradicts --spill"},
        {{"compare", kScan, "--gpu-memory", "60%", "-p", "torch"}, "contradicts --gpu-memory"},
        {{"compare", kScan, "--no-bound"}, "over tiers"},
        {{"replay", kScan, "--gpu-memory", "60%,40%"}, "tidemark compare takes several"},
        {{"replay", kScan, "--spill", "lru", "--spill", "clock"}, "tidemark compare takes several"},
        {{"replay", kScan, "--gpu-memory", "lots"}, "--gpu-memory"},
        {{"replay", kScan, "--spill", "lruu"}, "lru"},
        {{"replay", kScan, "--machine", "h200-nod"}, "h200-node"},
        {{"replay", kScan, "--prefetch", "magic"}, "learned"},
        {{"replay", kScan, "--spill-start", "120%"}, "--spill-start"},
        {{"replay", kScan, "--spill-stop", "50%"}, "--spill-start as well"},
        {{"replay", kScan, "--spill-start", "50%", "--spill-stop", "60%"}, "above --spill-start"},
        {{"replay", kScan, "--spill", "lru", "--timeline", "-", "--json"}, "standard output"},
    };
    for (const auto& [arguments, hint] : wrong) {
        const Said said = support::tidemark(arguments);
        INFO(arguments[1] << " " << arguments[2] << ": " << said.err);
        CHECK((said.code == 2 || said.code == 3));
        CHECK(said.out.empty());
        CHECK(contains(said.err, hint));
    }
}

TEST_CASE("a GPU that is too small for a kernel ends in out of memory", "[cli][tiers]") {
    const Said said = support::tidemark({"replay", kScan, "--gpu-memory", "1MiB"});

    CHECK(said.code == 4);
    CHECK(contains(said.out, "Out of memory: "));
}

TEST_CASE("--timeline writes spans that agree with the figures", "[cli][tiers]") {
    const Folder folder;
    const json run = tidemark_json(
        {"replay", kTraining, "--gpu-memory", "50%", "--timeline", folder / "spans.jsonl"});

    std::istringstream lines(support::read_file(folder / "spans.jsonl"));
    std::string line;
    REQUIRE(std::getline(lines, line));
    const json header = json::parse(line);
    std::uint64_t spans = 0;
    std::uint64_t kernels = 0;
    std::int64_t stalled = 0;
    std::int64_t begin = 0;
    std::vector<std::uint64_t> by_link(header["links"].size(), 0);
    while (std::getline(lines, line)) {
        const json span = json::parse(line);
        ++spans;
        CHECK(span["begin"] >= begin);
        CHECK(span["end"] >= span["begin"]);
        begin = span["begin"];
        kernels += span["kind"] == "kernel" ? 1U : 0U;
        if (span["kind"] == "stall")
            stalled += span["end"].get<std::int64_t>() - span["begin"].get<std::int64_t>();
        if (span.contains("link"))
            by_link[span["link"].get<std::size_t>()] += span["bytes"].get<std::uint64_t>();
    }

    CHECK(header["format"] == "tidemark-timeline");
    CHECK(header["spans"] == spans);
    CHECK(header["makespan_ns"] == run["makespan_ns"]);
    CHECK(kernels == run["kernels"]);
    CHECK(stalled == run["stall_ns"]);
    for (std::size_t link = 0; link < by_link.size(); ++link)
        CHECK(by_link[link] == run["links"][link]["bytes"]);
}

TEST_CASE("--timeline - is the timeline and nothing else", "[cli][tiers]") {
    const Said said = support::tidemark({"replay", kQuery, "--timeline", "-"});

    CHECK(said.code == 0);
    CHECK(said.out.starts_with("{\"type\":\"header\""));
    CHECK_FALSE(contains(said.out, "slowdown  "));
}

TEST_CASE("compare over tiers has a row for each policy and size, on any number of threads",
          "[cli][tiers]") {
    const Arguments arguments{"compare", kScan,     kQuery,    "--gpu-memory", "80%,50%", "--spill",
                              "lru",     "--spill", "largest", "--spill",      "belady"};
    const auto with = [&arguments](const Arguments& more) {
        Arguments all = arguments;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    json one = tidemark_json(with({"--threads", "1"}));
    json four = tidemark_json(with({"--threads", "4"}));

    CHECK(one["runs"].size() == 2 * 2 * 3);
    CHECK(one["totals"].size() == 2 * 3);
    for (json* each : {&one, &four}) {
        (*each)["provenance"].erase("command");
        for (json& run : (*each)["runs"])
            run.erase("elapsed_ns");
    }
    CHECK(one == four);

    const Said text = support::tidemark(arguments);
    CHECK(text.code == 0);
    CHECK(contains(text.out, "belady *"));
    CHECK(contains(text.out, "/ bound"));
    const Said markdown = support::tidemark(with({"--markdown", "--no-bound"}));
    CHECK(contains(markdown.out, "#### All 2 traces"));
    CHECK_FALSE(contains(markdown.out, "must move"));
}

TEST_CASE("compare over tiers takes all policies and four sizes by itself", "[cli][tiers]") {
    const json comparison = tidemark_json({"compare", kQuery, "--machine", "h200-node"});

    std::set<std::string> policies;
    std::set<std::string> sizes;
    for (const json& run : comparison["runs"]) {
        policies.insert(run["policy"].get<std::string>());
        sizes.insert(run["gpu_memory"].get<std::string>());
    }
    const json catalogue = tidemark_json({"victims"});
    CHECK(policies.size() == catalogue["victims"].size());
    CHECK(sizes == std::set<std::string>{"20 %", "40 %", "60 %", "80 %"});
    CHECK(comparison["runs"].size() == policies.size() * 4);
}

TEST_CASE("sizes of a trace can be scaled over tiers as well", "[cli][tiers]") {
    const json whole = tidemark_json({"replay", kScan, "--spill", "lru"});
    const json half = tidemark_json({"replay", kScan, "--spill", "lru", "--scale", "0.5"});

    CHECK(half["program_peak_bytes"].get<double>() ==
          Approx(whole["program_peak_bytes"].get<double>() / 2).epsilon(0.001));
}

TEST_CASE("victims lists the policies and explains one", "[cli][tiers]") {
    const Said all = support::tidemark({"victims"});
    CHECK(all.code == 0);
    for (const char* name : {"lru", "s3fifo", "gdsf", "belady"})
        CHECK(contains(all.out, std::string("\n") + name + " ") !=
              all.out.starts_with(std::string(name) + " "));
    CHECK(contains(support::tidemark({"victims", "belady"}).out, "the trace's own future"));
    const Said wrong = support::tidemark({"victims", "beladi"});
    CHECK(wrong.code == 2);
    CHECK(contains(wrong.err, "belady"));
}

TEST_CASE("gen is another name of generate, and help says so", "[cli]") {
    const Folder folder;
    const Said long_name = support::tidemark({"generate", "query:tasks=3", "-o", folder / "a.tmk"});
    const Said short_name = support::tidemark({"gen", "query:tasks=3", "-o", folder / "b.tmk"});

    CHECK(long_name.code == 0);
    CHECK(short_name.code == 0);
    CHECK(support::read_file(folder / "a.tmk") == support::read_file(folder / "b.tmk"));
    CHECK(contains(support::tidemark({"--help"}).out, "generate, gen"));
    CHECK(support::tidemark({"gen"}).out == support::tidemark({"generate"}).out);
    CHECK(contains(support::tidemark({"genn"}).err, "did you mean gen?"));
}

TEST_CASE("programs with uses are replayed by allocator policies, and survive JSONL",
          "[cli][tiers]") {
    const Folder folder;
    for (const std::string spec :
         {"query:events=5000", "training:events=5000", "kv-cache:events=5000",
          "adversarial:events=5000,pattern=sizes"}) {
        INFO(spec);
        const json run =
            tidemark_json({"replay", "generate:" + spec, "--policy", "best-fit", "--check"});
        CHECK(run["out_of_memory"] == 0);
        CHECK(run["hazard_count"] == 0);
        CHECK(run["live_at_end"] == 0);

        REQUIRE(support::tidemark({"gen", spec, "-o", folder / "a.tmk", "--force"}).code == 0);
        REQUIRE(support::tidemark({"export", folder / "a.tmk", "-o", folder / "a.jsonl"}).code ==
                0);
        json first = tidemark_json({"replay", folder / "a.tmk", "--gpu-memory", "70%"});
        json second = tidemark_json({"replay", folder / "a.jsonl", "--gpu-memory", "70%"});
        for (const char* key : {"trace", "elapsed_ns", "provenance"}) {
            first.erase(key);
            second.erase(key);
        }
        CHECK(first == second);
    }
}
