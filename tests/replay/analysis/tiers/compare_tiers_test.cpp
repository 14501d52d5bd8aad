// compare_tiers: the same answer on any number of threads, rows in order, figures that agree with
// single runs, and errors for what cannot be compared.
#include "replay/analysis/tiers/compare_tiers.h"

#include <cmath>
#include <mutex>

#include <catch2/catch.hpp>

#include "backends/machines/machine_json.h"
#include "traces/open.h"

using namespace tidemark;

namespace {

TierProgram generated_program(const std::string& spec) {
    const auto trace = open_trace("generate:" + spec);
    REQUIRE(trace);
    auto program = make_tier_program(**trace);
    REQUIRE(program);
    return std::move(*program);
}

MachineSpec machine() {
    auto machine = open_machine("h200-node");
    REQUIRE(machine);
    return std::move(*machine);
}

TierCompareOptions on_threads(unsigned threads) {
    TierCompareOptions options;
    options.threads = threads;
    return options;
}

const std::vector<std::string> kPolicies{"lru", "belady", "largest"};
const std::vector<GpuMemory> kMemories{{0, 0.9}, {0, 0.5}};

}  // namespace

TEST_CASE("a size of GPU memory is a share of the peak or bytes", "[tiers][compare]") {
    CHECK(parse_gpu_memory("60%")->share == Approx(0.6));
    CHECK(parse_gpu_memory("60%")->bytes == 0);
    CHECK(parse_gpu_memory("12.5%")->share == Approx(0.125));
    CHECK(parse_gpu_memory("80GiB")->bytes == 80_GiB);
    CHECK(to_text(*parse_gpu_memory("60%")) == "60 %");
    CHECK(to_text(*parse_gpu_memory("12.5%")) == "12.5 %");
    CHECK(to_text(*parse_gpu_memory("80GiB")) == "80.0 GiB");
    for (const char* wrong : {"", "0", "0%", "-5%", "%", "x%", "much", "60 % %", "nan%", "1e99%"}) {
        INFO(wrong);
        const auto memory = parse_gpu_memory(wrong);
        REQUIRE_FALSE(memory);
        CHECK(memory.error().code == ErrorCode::bad_option);
        CHECK(memory.error().where == "--gpu-memory");
    }
}

TEST_CASE("a comparison over tiers is the same on one thread and on four", "[tiers][compare]") {
    const TierProgram scan =
        generated_program("adversarial:events=3000,working_set=1GiB,buffer=16MiB,pattern=scan");
    const TierProgram training =
        generated_program("training:steps=2,layers=2,hidden=256,sequence=128");
    const std::vector<NamedProgram> programs{{"scan", &scan}, {"training", &training}};
    const MachineSpec node = machine();
    const TierQuestion question{programs, &node, kPolicies, kMemories, {}};

    const auto one = compare_tiers(question, on_threads(1));
    const auto four = compare_tiers(question, on_threads(4));

    REQUIRE(one);
    REQUIRE(four);
    REQUIRE(one->programs.size() == 2);
    for (std::size_t p = 0; p < 2; ++p) {
        REQUIRE(one->programs[p].rows.size() == 6);
        CHECK(one->programs[p].verdicts == four->programs[p].verdicts);
        for (std::size_t i = 0; i < 6; ++i) {
            const TierComparisonRow& row = one->programs[p].rows[i];
            const TierComparisonRow& other = four->programs[p].rows[i];
            CHECK(row.run.policy == other.run.policy);
            CHECK(row.run.makespan == other.run.makespan);
            CHECK(moved_bytes(row.run) == moved_bytes(other.run));
            CHECK(row.of_bound == other.of_bound);
            CHECK(row.best == other.best);
            CHECK(row.run.elapsed == 0);
        }
    }
    CHECK(one->totals.size() == 6);
    CHECK(one->machine == "h200-node");
    CHECK(one->machine_hash == machine_hash(node));
}

TEST_CASE("rows are best first in each size, related to the bound and to belady",
          "[tiers][compare]") {
    const TierProgram scan =
        generated_program("adversarial:events=3000,working_set=1GiB,buffer=16MiB,pattern=scan");
    const std::vector<NamedProgram> programs{{"scan", &scan}};
    const MachineSpec node = machine();

    const auto comparison = compare_tiers({programs, &node, kPolicies, kMemories, {}});

    REQUIRE(comparison);
    const TierComparisonBlock& block = comparison->programs.front();
    CHECK(block.peak_bytes == 1_GiB);
    CHECK(block.capacities == std::vector<Bytes>{static_cast<Bytes>(0.9 * double(1_GiB)), 512_MiB});
    CHECK(comparison->totals.empty());
    for (std::size_t memory = 0; memory < 2; ++memory) {
        const std::span rows = std::span(block.rows).subspan(memory * 3, 3);
        const TierBound& bound = block.bounds[memory];
        REQUIRE(bound.runs);
        CHECK(bound.bytes > 0);
        std::uint64_t best = 0;
        Bytes of_belady = 0;
        for (const TierComparisonRow& row : rows) {
            CHECK(row.memory == memory);
            CHECK(row.run.scenario.gpu_memory == block.capacities[memory]);
            CHECK(moved_bytes(row.run) >= bound.bytes);
            CHECK(row.of_bound == Approx(static_cast<double>(moved_bytes(row.run)) /
                                         static_cast<double>(bound.bytes)));
            CHECK(row.knows_future == (row.run.policy == "belady"));
            best += row.best ? 1U : 0U;
            if (row.run.policy == "belady")
                of_belady = moved_bytes(row.run);
        }
        CHECK(best == 1);
        for (const TierComparisonRow& row : rows)
            CHECK(row.of_belady == Approx(static_cast<double>(moved_bytes(row.run)) /
                                          static_cast<double>(of_belady)));
        CHECK(rows[0].run.makespan <= rows[1].run.makespan);
        CHECK(rows[1].run.makespan <= rows[2].run.makespan);
    }
    // A cycle larger than memory: LRU has nothing when it is needed, belady most of it.
    for (const TierComparisonRow& row : block.rows) {
        if (row.memory == 0 && row.run.policy == "lru")
            CHECK(row.run.hit_ratio() < 0.1);
        if (row.memory == 0 && row.run.policy == "belady")
            CHECK(row.run.hit_ratio() > 0.8);
    }
}

TEST_CASE("a row is what a single run of it gives", "[tiers][compare]") {
    const TierProgram program = generated_program("query:tasks=20,batch=1MiB");
    const std::vector<NamedProgram> programs{{"query", &program}};
    const MachineSpec node = machine();
    const std::vector<std::string> policies{"lru"};
    const std::vector<GpuMemory> memories{{0, 0.7}};

    const auto comparison = compare_tiers({programs, &node, policies, memories, {}});
    TierScenario scenario;
    scenario.gpu_fraction = 0.7;
    const auto single = run_tiers(program, node, scenario);

    REQUIRE(comparison);
    REQUIRE(single);
    const TierRun& run = comparison->programs.front().rows.front().run;
    CHECK(run.makespan == single->makespan);
    CHECK(run.spilled_bytes == single->spilled_bytes);
    CHECK(run.fetched_bytes == single->fetched_bytes);
    CHECK(run.stalls.total() == single->stalls.total());
}

TEST_CASE("totals are geometric means and sums", "[tiers][compare]") {
    const TierProgram a =
        generated_program("adversarial:events=2000,working_set=1GiB,buffer=16MiB");
    const TierProgram b =
        generated_program("adversarial:events=2000,working_set=1GiB,buffer=16MiB,pattern=flood");
    const std::vector<NamedProgram> programs{{"a", &a}, {"b", &b}};
    const MachineSpec node = machine();
    const std::vector<std::string> policies{"lru"};
    const std::vector<GpuMemory> memories{{0, 0.5}};

    const auto comparison = compare_tiers({programs, &node, policies, memories, {}});

    REQUIRE(comparison);
    REQUIRE(comparison->totals.size() == 1);
    const TierTotal& total = comparison->totals.front();
    const TierComparisonRow& first = comparison->programs[0].rows.front();
    const TierComparisonRow& second = comparison->programs[1].rows.front();
    CHECK(total.slowdown == Approx(std::sqrt(first.run.slowdown() * second.run.slowdown())));
    CHECK(total.moved == moved_bytes(first.run) + moved_bytes(second.run));
    CHECK(total.stall == first.run.stalls.total() + second.run.stalls.total());
    CHECK(total.of_bound == Approx(std::sqrt(first.of_bound * second.of_bound)));
    CHECK(total.best);
}

TEST_CASE("progress never goes back and ends at the total", "[tiers][compare]") {
    const TierProgram program = generated_program("adversarial:events=2000,working_set=64MiB");
    const std::vector<NamedProgram> programs{{"a", &program}};
    const MachineSpec node = machine();
    std::uint64_t last = 0;
    std::uint64_t all = 0;
    bool forward = true;
    TierCompareOptions options = on_threads(3);
    options.bound = false;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
        forward = forward && done >= last;
        last = done;
        all = total;
    };

    const auto comparison = compare_tiers({programs, &node, kPolicies, kMemories, {}}, options);

    REQUIRE(comparison);
    CHECK(forward);
    CHECK(last == all);
    CHECK(all == program.steps.size() * 6);
    CHECK_FALSE(comparison->programs.front().bounds.front().runs);
    CHECK(comparison->programs.front().rows.front().of_bound == 0);
}

TEST_CASE("what cannot be compared is refused", "[tiers][compare]") {
    const TierProgram program = generated_program("adversarial:events=500,working_set=64MiB");
    const std::vector<NamedProgram> programs{{"a", &program}};
    const MachineSpec node = machine();
    const std::vector<std::string> wrong{"lru", "lrru"};
    const auto refused = [](const TierQuestion& question) {
        const auto comparison = compare_tiers(question);
        REQUIRE_FALSE(comparison);
        CHECK(comparison.error().code == ErrorCode::bad_option);
        return to_text(comparison.error());
    };

    CHECK_THAT(refused({{}, &node, kPolicies, kMemories, {}}), Catch::Contains("no trace"));
    CHECK_THAT(refused({programs, &node, {}, kMemories, {}}), Catch::Contains("--spill"));
    CHECK_THAT(refused({programs, &node, kPolicies, {}, {}}), Catch::Contains("--gpu-memory"));
    CHECK_THAT(refused({programs, &node, wrong, kMemories, {}}), Catch::Contains("lru"));
}
