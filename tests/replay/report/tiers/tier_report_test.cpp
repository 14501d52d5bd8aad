// Reports of replays over tiers: every figure that a person is told, timelines that can be read
// line by line, and tables that say what is a reference.
#include "replay/report/tiers/tier_report.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "replay/report/tiers/tier_timeline_lines.h"

using namespace tidemark;

namespace {

bool has_text(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// The lines of the timeline file of `run`.
std::vector<nlohmann::json> timeline_of(const TierRun& run, const TraceInfo& info) {
    const std::string path = (std::filesystem::temp_directory_path() /
                              ("tidemark-timeline-" + std::to_string(::getpid())))
                                 .string();
    const auto file = OutputFile::create(path);
    REQUIRE(file);
    REQUIRE(write_timeline(run, info, {"1.2", "tidemark replay a.jsonl"}, **file));
    REQUIRE((*file)->commit());
    std::istringstream lines(read_file(path));
    std::filesystem::remove(path);
    std::vector<nlohmann::json> objects;
    for (std::string line; std::getline(lines, line);)
        objects.push_back(nlohmann::json::parse(line));
    return objects;
}

constexpr SpaceId kGpu{Tier::gpu, 0};
constexpr SpaceId kHost{Tier::host, 0};

TierRun example() {
    TierRun run;
    run.scenario.trace = "a.jsonl";
    run.scenario.spill = "gdsf";
    run.scenario.gpu_memory = 6_GiB;
    run.scenario.prefetch = Prefetch::learned;
    run.policy = "gdsf";
    run.machine_name = "h200-node";
    run.events = 1000;
    run.kernels = 300;
    run.elapsed = 500'000;
    run.makespan = 3'000'000'000;
    run.unlimited = 2'000'000'000;
    run.stalls = {.fetch = 600'000'000, .room = 300'000'000, .reservation = 100'000'000};
    run.needed_bytes = 1_GiB;
    run.used_bytes = 100_GiB;
    run.hit_bytes = 75_GiB;
    run.late_bytes = 5_GiB;
    run.spilled_bytes = 8_GiB;
    run.fetched_bytes = 24_GiB;
    run.prefetched_bytes = 12_GiB;
    run.wasted_bytes = 3_GiB;
    run.dropped_bytes = 7_GiB;
    run.evictions = 1234;
    run.links = {{kGpu, kHost, 8_GiB, 100, 150'000'000},
                 {kHost, kGpu, 24_GiB, 400, 750'000'000},
                 {kHost, {Tier::disk, 0}, 0, 0, 0}};
    run.spaces = {{kGpu, 6_GiB, 5_GiB}, {kHost, 2048_GiB, 4_GiB}};
    run.reservations = {
        .requested = 40, .waited = 12, .p50 = 0, .p99 = 5'000'000, .max = 9'000'000};
    run.forecast = {.right = 900, .wrong = 50, .silent = 50};
    run.warnings = {"kernels are assumed to use what was allocated last"};
    return run;
}

TierProgram program() {
    TierProgram program;
    program.peak_bytes = 10_GiB;
    return program;
}

// A comparison of one program with two sizes and two policies.
TierComparison comparison() {
    TierComparison comparison;
    comparison.machine = "h200-node";
    comparison.memories = {{0, 0.6}, {2_GiB, 0}};
    TierComparisonBlock block;
    block.name = "a.jsonl";
    block.events = 1000;
    block.peak_bytes = 10_GiB;
    block.capacities = {6_GiB, 2_GiB};
    block.bounds = {{true, 16_GiB, 1_GiB, 10}, {false, 0, 3_GiB, 0}};
    for (std::size_t memory = 0; memory < 2; ++memory) {
        for (const char* policy : {"belady", "gdsf"}) {
            TierComparisonRow row;
            row.run = example();
            row.run.scenario.spill = policy;
            row.memory = memory;
            row.knows_future = policy == std::string("belady");
            row.best = !row.knows_future;
            row.of_bound = memory == 0 ? 2 : 0;
            row.of_belady = row.best ? 1.5 : 1;
            block.rows.push_back(std::move(row));
        }
    }
    block.verdicts = {"with 60 %: gdsf is fastest", "with 2.00 GiB: everything runs out of memory"};
    comparison.programs.push_back(std::move(block));
    return comparison;
}

}  // namespace

TEST_CASE("a replay over tiers tells time, stalls by cause, bytes by link and what it rests on",
          "[report][tiers]") {
    const std::string text = tier_run_text("a.jsonl", example(), program(), {});

    INFO(text);
    CHECK(has_text(text,
                   "a.jsonl on h200-node under gdsf: 1,000 events replayed in 500 us "
                   "(2.0 million/s)"));
    CHECK(has_text(text, "6.00 GiB, 60.0 % of the program's peak (10.0 GiB)"));
    for (const char* line : {"slowdown",
                             "1.500",
                             "1.00 s",
                             "33.3 %",
                             "until a buffer was fetched",
                             "600 ms",
                             "until others were evicted",
                             "300 ms",
                             "until a reservation was granted",
                             "100 ms",
                             "75.0 GiB",
                             "75.0 %",
                             "on their way, but late",
                             "1,234 evictions",
                             "24.0 GiB",
                             "before they were needed",
                             "50.0 %",
                             "never used",
                             "25.0 %",
                             "dropped",
                             "gpu:0 to host:0",
                             "in 100 copies, busy 150 ms, 5.0 % of the run",
                             "Memory at its peak",
                             "of 2.00 TiB",
                             "that had to wait",
                             "9.00 ms",
                             "90.0 % of 1,000 operations",
                             "Prefetching: learned",
                             "note: kernels are assumed"})
        CHECK(has_text(text, line));
    CHECK_FALSE(has_text(text, "host:0 to disk:0"));  // nothing went there
    CHECK_FALSE(has_text(text, "Out of memory"));
}

TEST_CASE("what did not happen is not told", "[report][tiers]") {
    TierRun run;
    run.scenario.spill = "lru";
    const std::string text = tier_run_text("a.jsonl", run, {}, {});

    INFO(text);
    CHECK(has_text(text, "slowdown                     1.000"));
    for (const char* word : {"Reservations\n", "Links", "Forecast", "late", "for nothing", "nan"})
        CHECK_FALSE(has_text(text, word));
}

TEST_CASE("refusals and deadlocks are told, the first in words", "[report][tiers]") {
    TierRun run = example();
    run.out_of_memory = 7;
    run.refusals = std::vector<std::string>(7, "kernel 3 needs 7.00 GiB\x1b[2J");
    run.deadlocks = 2;
    const std::string text = tier_run_text("a.jsonl", run, program(), {});

    CHECK(has_text(text,
                   "Out of memory: 7 allocations and kernels\n  kernel 3 needs 7.00 GiB\\x1b[2J"));
    CHECK(has_text(text, "Deadlocks among reservations: 2"));
}

TEST_CASE("a comparison marks the best and the references, and names the bound",
          "[report][tiers]") {
    const std::string plain = tier_comparison_text(comparison(), Emphasis::none);
    const std::string markdown = tier_comparison_text(comparison(), Emphasis::markdown);

    INFO(plain << markdown);
    CHECK(has_text(plain, "a.jsonl on h200-node: 1,000 events, a peak of 10.0 GiB"));
    CHECK(has_text(plain,
                   "60 % = 6.00 GiB, at least 16.0 GiB must move; 2.00 GiB, too small: the "
                   "largest kernel needs 3.00 GiB"));
    CHECK(has_text(plain, "belady *"));
    CHECK(has_text(plain, "* knows the trace's future"));
    CHECK(has_text(plain, "with 60 %: gdsf is fastest"));
    CHECK(has_text(markdown, "**gdsf**"));
    CHECK_FALSE(has_text(markdown, "**belady"));
    CHECK(has_text(markdown, "- note: kernels are assumed"));
}

TEST_CASE("a timeline has a header, and a line for each span, by begin", "[report][tiers]") {
    TierRun run = example();
    run.timeline = {
        {500, 900, 64, 3, 1, SpanKind::copy},
        {0, 100, 10, kNoUse, 0, SpanKind::kernel},
        {100, 900, 64, 3, 0, SpanKind::fetch_stall},
        {100, 500, 32, 1, 0, SpanKind::copy},
        {100, 100, 16, 2, 0, SpanKind::drop},
        {900, 950, 8, 4, 0, SpanKind::room_stall},
        {950, 960, 4, kNoUse, 1, SpanKind::reservation_stall},
    };
    TraceInfo info;
    info.streams = {0, 77};

    const std::vector<nlohmann::json> objects = timeline_of(run, info);

    REQUIRE(objects.size() == 8);
    CHECK(objects[0]["format"] == "tidemark-timeline");
    CHECK(objects[0]["spans"] == 7);
    CHECK(objects[0]["streams"] == nlohmann::json{0, 77});
    CHECK(objects[0]["links"][1] == nlohmann::json{{"source", "host:0"}, {"target", "gpu:0"}});
    CHECK(objects[0]["spaces"][0]["capacity_bytes"] == 6_GiB);
    CHECK(objects[1] ==
          nlohmann::json::parse(R"({"begin":0,"end":100,"kind":"kernel","stream":0,"bytes":10})"));
    CHECK(objects[2]["cause"] == "fetch");
    CHECK(objects[2]["buffer"] == 3);
    CHECK(objects[3] ==
          nlohmann::json::parse(
              R"({"begin":100,"end":500,"kind":"spill","link":0,"bytes":32,"buffer":1})"));
    CHECK(objects[4]["kind"] == "drop");
    CHECK(objects[4]["space"] == 0);
    CHECK(objects[5]["kind"] == "fetch");
    CHECK(objects[6]["cause"] == "room");
    CHECK(objects[7]["cause"] == "reservation");
    CHECK_FALSE(objects[7].contains("buffer"));
}

TEST_CASE("what memories held stands among the spans of a timeline", "[report][tiers]") {
    TierRun run = example();
    run.timeline = {{900, 950, 8, 4, 0, SpanKind::room_stall}};
    run.levels = {{0, 96, 32, 0}, {900, 64, 0, 1}};

    const std::vector<nlohmann::json> objects = timeline_of(run, {});

    REQUIRE(objects.size() == 4);
    CHECK(objects[0]["spans"] == 3);
    CHECK(objects[1] == nlohmann::json::parse(R"({"begin":0,"end":0,"kind":"level","space":0,)"
                                              R"("bytes":96,"reserved_bytes":32})"));
    CHECK(objects[2]["kind"] == "stall");
    CHECK(objects[3]["space"] == 1);
}

TEST_CASE("every key and kind of a timeline is in its document", "[report][tiers][docs]") {
    const std::string page = read_file(TIDEMARK_SOURCE_DIR "/docs/format-timeline.md");
    TierRun run = example();
    run.links.push_back({kHost, {Tier::host, 1}, 0, 0, 0});
    run.timeline = {
        {0, 1, 1, 1, 0, SpanKind::kernel},     {0, 1, 1, 1, 0, SpanKind::fetch_stall},
        {0, 1, 1, 1, 0, SpanKind::room_stall}, {0, 1, 1, 1, 0, SpanKind::reservation_stall},
        {0, 1, 1, 1, 0, SpanKind::copy},       {0, 1, 1, 1, 1, SpanKind::copy},
        {0, 1, 1, 1, 3, SpanKind::copy},       {0, 1, 1, 1, 0, SpanKind::drop},
    };
    run.levels = {{0, 1, 1, 0}};
    std::set<std::string> kinds;
    for (const nlohmann::json& object : timeline_of(run, {})) {
        for (const auto& [key, value] : object.items()) {
            INFO(key);
            CHECK(has_text(page, "`" + key + "`"));
        }
        if (object.contains("kind"))
            kinds.insert(object["kind"].get<std::string>());
    }
    CHECK(kinds ==
          std::set<std::string>{"kernel", "stall", "spill", "fetch", "move", "drop", "level"});
    for (const std::string& kind : kinds)
        CHECK(has_text(page, "\n| `" + kind + "` |"));
}

TEST_CASE("a victim policy is shown with what it knows and its options", "[report][tiers]") {
    for (const VictimPolicyInfo& policy : all_victim_policies()) {
        const std::string text = victim_text(policy);
        CHECK(has_text(text, std::string(policy.name) + ": "));
        CHECK(has_text(text, "knows: "));
        for (const OptionInfo& option : policy.options)
            CHECK(has_text(text, "\n  " + std::string(option.name) + " ("));
        CHECK(has_text(victims_text(all_victim_policies()), std::string(policy.summary)));
    }
}
