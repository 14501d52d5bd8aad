// Sweeps: grids, names of units, shards, and the same results on every number of threads.
#include "replay/analysis/sweep/sweep.h"

#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "replay/analysis/sweep/grid.h"
#include "tests/support/vector_trace.h"
#include "traces/open.h"

namespace tidemark {
namespace {

using Texts = std::vector<std::string>;

Texts must_expand(const char* text) {
    const Result<Texts> settings = expand_grid(text);
    INFO(text << ": " << (settings ? "" : to_text(settings.error())));
    REQUIRE(settings);
    return *settings;
}

TEST_CASE("a grid is all combinations, the last option changing fastest", "[sweep]") {
    CHECK(must_expand("torch") == Texts{"torch"});
    CHECK(must_expand("torch:max_split_size_mb=64,128,expandable_segments=true,false") ==
          Texts{"torch:expandable_segments=true,max_split_size_mb=64", "torch:max_split_size_mb=64",
                "torch:expandable_segments=true,max_split_size_mb=128",
                "torch:max_split_size_mb=128"});
    CHECK(must_expand("vpmm:page=2MiB,4MiB").size() == 2);
}

TEST_CASE("ranges grow by a factor or a step, in the unit of their begin", "[sweep]") {
    CHECK(must_expand("torch:max_split_size_mb=64..512*2").size() == 4);
    CHECK(must_expand("torch:max_split_size_mb=64..512*2").back() == "torch:max_split_size_mb=512");
    CHECK(must_expand("torch:garbage_collection_threshold=0.2..0.8+0.2") ==
          Texts{"torch:garbage_collection_threshold=0.2", "torch:garbage_collection_threshold=0.4",
                "torch:garbage_collection_threshold=0.6",
                "torch:garbage_collection_threshold=0.8"});
    CHECK(must_expand("vpmm:page=2MiB..16MiB*2,64MiB").size() == 5);
    CHECK(must_expand("vpmm:page=256MiB..1GiB*2").size() == 3);
}

TEST_CASE("settings that come to the same stand once", "[sweep]") {
    CHECK(must_expand("torch:expandable_segments=false,true,False") ==
          Texts{"torch", "torch:expandable_segments=true"});
}

TEST_CASE("what is no grid is refused", "[sweep]") {
    for (const char* text :
         {"", "torhc", "torch:", "torch:64", "torch:max_split_size=64", "torch:max_split_size_mb=x",
          "torch:max_split_size_mb=64..512*1", "torch:max_split_size_mb=64..512+0",
          "torch:max_split_size_mb=0..512*2", "torch:max_split_size_mb=512..64*2",
          "torch:max_split_size_mb=64..1e9+1",
          "torch:max_split_size_mb=20..900+1,"
          "roundup_power2_divisions=1..900+1"}) {
        INFO(text);
        const Result<Texts> settings = expand_grid(text);
        REQUIRE_FALSE(settings);
        CHECK(settings.error().code == ErrorCode::bad_option);
    }
}

TEST_CASE("drawn settings are some of them, each once, the same for a seed", "[sweep]") {
    const Texts all = must_expand("torch:max_split_size_mb=20..119+1");
    REQUIRE(all.size() == 100);
    const Texts drawn = draw_settings(all, 10, 1);
    CHECK(drawn.size() == 10);
    CHECK(std::set<std::string>(drawn.begin(), drawn.end()).size() == 10);
    CHECK(drawn == draw_settings(all, 10, 1));
    CHECK(drawn != draw_settings(all, 10, 2));
    CHECK(draw_settings(all, 1000, 1) == all);
}

TEST_CASE("a unit's name differs with everything that its result depends on", "[sweep]") {
    const SweepSetting plain{.policy = "torch"};
    std::set<std::string> names;
    names.insert(unit_name(1, plain, 5, "0.1"));
    names.insert(unit_name(2, plain, 5, "0.1"));
    names.insert(unit_name(1, plain, 6, "0.1"));
    names.insert(unit_name(1, plain, 5, "0.2"));
    names.insert(unit_name(1, {.policy = "vpmm"}, 5, "0.1"));
    names.insert(unit_name(1, {.policy = "torch", .scale = 2}, 5, "0.1"));
    names.insert(unit_name(1, {.policy = "torch", .memory = 1}, 5, "0.1"));
    names.insert(unit_name(1, {.policy = "torch", .overhead = 1}, 5, "0.1"));
    names.insert(unit_name(1, {.policy = "torch", .limit = 0}, 5, "0.1"));
    CHECK(names.size() == 9);
    // What it is called, or where its profile lies, is none of it.
    CHECK(unit_name(1, {.trace = "a", .policy = "torch", .profile = "b"}, 5, "0.1") ==
          unit_name(1, plain, 5, "0.1"));
}

TEST_CASE("shards have every unit once and differ by one at most", "[sweep]") {
    for (const std::size_t count : {0U, 1U, 7U, 100U, 101U}) {
        std::size_t next = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            const UnitRange range = units_of_shard(count, i, 8);
            CHECK(range.begin == next);
            CHECK(range.end - range.begin >= count / 8);
            CHECK(range.end - range.begin <= count / 8 + 1);
            next = range.end;
        }
        CHECK(next == count);
    }
}

std::map<std::string, std::string> environment;

std::string_view variable(const char* name) {
    return environment[name];
}

TEST_CASE("schedulers say which shard this is", "[sweep]") {
    const auto found = [](std::map<std::string, std::string> variables, const char* text = "auto") {
        environment = std::move(variables);
        const Result<Shard> shard = scheduled_shard(text, variable);
        return shard ? std::to_string(shard->index + 1) + "/" + std::to_string(shard->parts)
                     : std::string("none");
    };
    CHECK(found({}) == "none");
    CHECK(found({{"SLURM_ARRAY_TASK_ID", "5"},
                 {"SLURM_ARRAY_TASK_MIN", "5"},
                 {"SLURM_ARRAY_TASK_COUNT", "4"}}) == "1/4");
    CHECK(found({{"SLURM_ARRAY_TASK_ID", "30"},
                 {"SLURM_ARRAY_TASK_MIN", "10"},
                 {"SLURM_ARRAY_TASK_STEP", "10"},
                 {"SLURM_ARRAY_TASK_COUNT", "3"}}) == "3/3");
    CHECK(found({{"SGE_TASK_ID", "2"}, {"SGE_TASK_FIRST", "1"}, {"SGE_TASK_LAST", "9"}}) == "2/9");
    CHECK(found({{"SGE_TASK_ID", "undefined"}}) == "none");
    CHECK(found({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}) == "1/2");
    CHECK(found({{"PARALLEL_SEQ", "3"}}) == "none");
    CHECK(found({{"PARALLEL_SEQ", "3"}}, "auto/8") == "3/8");
    CHECK(found({{"JOB_COMPLETION_INDEX", "7"}}, "auto/8") == "8/8");
    CHECK(found({{"JOB_COMPLETION_INDEX", "8"}}, "auto/8") == "none");
    CHECK(parse_shard("3/16")->index == 2);
    for (const char* text : {"", "3", "0/4", "5/4", "1/0", "a/b", "-1/4", "1/4/5"})
        CHECK_FALSE(parse_shard(text));
}

TEST_CASE("halving ends with all traces, and with fewer units than the whole", "[sweep]") {
    const std::vector<Rung> rungs = halving_rungs(64, 64);
    CHECK(rungs.front().settings == 64);
    CHECK(rungs.front().traces == 1);
    CHECK(rungs.back().settings == 1);
    CHECK(rungs.back().traces == 64);
    std::size_t units = 0;
    std::size_t before = 0;
    for (const Rung& rung : rungs) {
        units += rung.settings * (rung.traces - before);  // what earlier rungs replayed is there
        before = rung.traces;
    }
    CHECK(units == 64 * 4);
    CHECK(halving_rungs(5, 1).size() == 1);
    CHECK(halving_rungs(3, 3).back().settings == 1);
}

TEST_CASE("settings are ranked by failures, refusals, memory, time, in that order", "[sweep]") {
    const std::vector<SettingScore> ranked =
        rank_settings(std::vector<UnitFigures>{{.setting = 0, .ratio = 1.2},
                                               {.setting = 1, .ratio = 1.1, .time = 9},
                                               {.setting = 2, .ratio = 1.1, .time = 5},
                                               {.setting = 3, .ratio = 1, .out_of_memory = 1},
                                               {.setting = 4, .failed = true},
                                               {.setting = 0, .ratio = 1.2}});
    std::vector<std::size_t> order;
    for (const SettingScore& score : ranked)
        order.push_back(score.setting);
    CHECK(order == std::vector<std::size_t>{2, 1, 0, 3, 4});
    CHECK(ranked[2].traces == 2);
    CHECK(ranked[2].ratio == Approx(1.2));
}

TEST_CASE("a policy that can't be so is a result, and the others go on", "[sweep]") {
    const auto trace = open_trace("generate:steps:events=500");
    REQUIRE(trace);
    const std::vector<SweepSetting> settings{
        {.policy = "bump"},
        {.policy = "torch", .memory = 1_GiB, .overhead = 2_GiB},
        {.policy = "torch"}};
    for (const unsigned threads : {1U, 4U}) {
        std::map<std::size_t, bool> found;
        const auto keep = [&](std::size_t i, const Result<Run>& result) -> Result<void> {
            found[i] = result.has_value();
            if (result)
                CHECK(result->summary.elapsed == 0);
            return {};
        };
        REQUIRE(run_settings(**trace, settings, keep, {.threads = threads}));
        CHECK(found == std::map<std::size_t, bool>{{0, true}, {1, false}, {2, true}});
    }
}

TEST_CASE("nothing is begun after what was to keep a result has failed", "[sweep]") {
    const auto trace = open_trace("generate:steps:events=500");
    REQUIRE(trace);
    const std::vector<SweepSetting> settings(5, SweepSetting{.policy = "bump"});
    std::size_t kept = 0;
    const auto keep = [&](std::size_t, const Result<Run>&) -> Result<void> {
        ++kept;
        return fail(ErrorCode::no_space, "full");
    };
    const Result<void> done = run_settings(**trace, settings, keep, {.threads = 1});
    REQUIRE_FALSE(done);
    CHECK(done.error().code == ErrorCode::no_space);
    CHECK(kept == 1);
}

}  // namespace
}  // namespace tidemark
