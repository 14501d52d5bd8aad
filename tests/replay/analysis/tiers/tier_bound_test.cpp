// The bound against the true optimum of small programs, by exhaustive search, and against what
// policies really move.
#include "replay/analysis/tiers/tier_bound.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backends/machines/machine_json.h"
#include "core/base/random.h"
#include "replay/tiers/tier_run.h"
#include "traces/open.h"

using namespace tidemark;

namespace {

struct Used {
    std::uint32_t buffer = 0;
    bool reads = false;
    bool writes = false;
};

// Programs written by hand: steps with the links that make_tier_program would set.
class ProgramWriter {
  public:
    void allocate(std::uint32_t buffer, Bytes size, bool has_content = false) {
        TierStep& step = add(StepKind::allocate);
        step.value = buffer;
        step.size = size;
        step.has_content = has_content;
        program.buffers = std::max(program.buffers, buffer + 1);
        lives_[buffer] = {program.steps.size() - 1, kNoUse};
    }

    void free(std::uint32_t buffer) { add(StepKind::free).value = buffer; }

    void kernel(const std::vector<Used>& used) {
        TierStep& step = add(StepKind::kernel);
        step.first = static_cast<std::uint32_t>(program.uses.size());
        step.count = static_cast<std::uint32_t>(used.size());
        for (const Used& one : used) {
            const auto index = static_cast<std::uint32_t>(program.uses.size());
            Life& life = lives_[one.buffer];
            (life.last == kNoUse ? program.steps[life.born].use : program.uses[life.last].next) =
                index;
            life.last = index;
            program.uses.push_back({BufferId{one.buffer}, kNoUse, one.reads, one.writes});
        }
    }

    TierProgram program;

  private:
    struct Life {
        std::size_t born = 0;
        std::uint32_t last = kNoUse;
    };

    TierStep& add(StepKind kind) {
        program.steps.emplace_back();
        program.steps.back().kind = kind;
        return program.steps.back();
    }

    std::map<std::uint32_t, Life> lives_;
};

// Bits of the buffers that are resident, and of those with a valid copy below.
struct State {
    std::uint32_t resident = 0;
    std::uint32_t copied = 0;

    friend auto operator<=>(const State&, const State&) = default;
};

// The fewest bytes out and in, trying every set of evictions before every kernel.
class Exhaustive {
  public:
    Exhaustive(const TierProgram& program, Bytes capacity)
        : program_(program), capacity_(capacity), sizes_(program.buffers) {}

    Bytes fewest() {
        std::map<State, Bytes> states{{{}, 0}};
        for (const TierStep& step : program_.steps) {
            const std::uint32_t bit = 1U << step.value;
            if (step.kind == StepKind::allocate) {
                sizes_[step.value] = step.size;
                if (step.has_content) {
                    content_ |= bit;
                    states = appear(states, bit);
                }
            } else if (step.kind == StepKind::free) {
                content_ &= ~bit;
                states = vanish(states, bit);
            } else if (step.kind == StepKind::kernel) {
                states = run(states, step);
            }
        }
        Bytes best = ~Bytes{0};
        for (const auto& [state, bytes] : states)
            best = std::min(best, bytes);
        return best;
    }

  private:
    Bytes size(std::uint32_t set) const {
        Bytes sum = 0;
        for (std::uint32_t i = 0; i < sizes_.size(); ++i)
            sum += (set >> i & 1U) != 0 ? sizes_[i] : 0;
        return sum;
    }

    static void keep(std::map<State, Bytes>& states, const State& state, Bytes bytes) {
        const auto [at, fresh] = states.try_emplace(state, bytes);
        if (!fresh)
            at->second = std::min(at->second, bytes);
    }

    static std::map<State, Bytes> appear(const std::map<State, Bytes>& states, std::uint32_t bit) {
        std::map<State, Bytes> after;
        for (const auto& [state, bytes] : states)
            keep(after, {state.resident | bit, state.copied & ~bit}, bytes);
        return after;
    }

    static std::map<State, Bytes> vanish(const std::map<State, Bytes>& states, std::uint32_t bit) {
        std::map<State, Bytes> after;
        for (const auto& [state, bytes] : states)
            keep(after, {state.resident & ~bit, state.copied & ~bit}, bytes);
        return after;
    }

    std::map<State, Bytes> run(const std::map<State, Bytes>& states, const TierStep& kernel) {
        std::uint32_t needed = 0;
        std::uint32_t read = 0;
        std::uint32_t written = 0;
        for (std::uint32_t i = kernel.first; i < kernel.first + kernel.count; ++i) {
            const TierUse& use = program_.uses[i];
            const std::uint32_t bit = 1U << to_integer(use.buffer);
            needed |= bit;
            read |= use.reads ? bit : 0;
            written |= use.writes ? bit : 0;
        }
        std::map<State, Bytes> after;
        for (const auto& [state, bytes] : states) {
            // Every subset of what is resident, except of what is needed, may leave.
            const std::uint32_t others = state.resident & ~needed;
            for (std::uint32_t gone = others;; gone = (gone - 1) & others) {
                const std::uint32_t stays = state.resident & ~gone;
                if (size(stays | needed) <= capacity_) {
                    const std::uint32_t out = gone & content_ & ~state.copied;
                    const std::uint32_t in = read & content_ & ~state.resident;
                    keep(after, {stays | needed, (state.copied | out) & ~written},
                         bytes + size(out) + size(in));
                }
                if (gone == 0)
                    break;
            }
        }
        content_ |= written;
        return after;
    }

    const TierProgram& program_;
    Bytes capacity_;
    std::vector<Bytes> sizes_;
    std::uint32_t content_ = 0;
};

// A random program with at most six buffers at a time, each kernel with up to three of them.
TierProgram random_program(std::uint64_t seed) {
    constexpr std::uint32_t kBuffers = 6;
    Random random(seed);
    ProgramWriter writer;
    std::vector<bool> alive(kBuffers);
    std::vector<bool> content(kBuffers);
    for (int step = 0; step < 40; ++step) {
        const auto id = static_cast<std::uint32_t>(random.below(kBuffers));
        if (!alive[id]) {
            content[id] = random.below(5) == 0;
            writer.allocate(id, 1 + random.below(6), content[id]);
            alive[id] = true;
        } else if (random.below(10) == 0) {
            writer.free(id);
            alive[id] = false;
        } else {
            std::vector<Used> used;
            for (std::uint32_t other = 0; other < kBuffers && used.size() < 3; ++other) {
                if (!alive[other] || (other != id && random.below(4) != 0))
                    continue;
                const bool writes = !content[other] || random.below(3) == 0;
                used.push_back({other, content[other] && random.below(4) != 0, writes});
                content[other] = content[other] || writes;
            }
            writer.kernel(used);
        }
    }
    return writer.program;
}

TierProgram program_of(const std::string& path) {
    const auto trace = open_trace(path);
    REQUIRE(trace);
    auto program = make_tier_program(**trace);
    REQUIRE(program);
    return std::move(*program);
}

Bytes share(const TierProgram& program, Bytes percent) {
    return program.peak_bytes * percent / 100;
}

// The bound is below what every policy moves, and within `factor` of the best of them.
void check_policies(const TierProgram& program, Bytes percent, double factor) {
    const auto machine = open_machine("h200-node");
    REQUIRE(machine);
    const TierBound bound = tier_bound(program, share(program, percent));
    REQUIRE(bound.runs);
    Bytes fewest = ~Bytes{0};
    for (const VictimPolicyInfo& policy : all_victim_policies()) {
        TierScenario scenario;
        scenario.gpu_memory = share(program, percent);
        scenario.spill = std::string(policy.name);
        const auto run = run_tiers(program, *machine, scenario);
        REQUIRE(run);
        INFO(policy.name << " at " << percent << " %");
        CHECK(run->out_of_memory == 0);
        CHECK(bound.bytes <= run->spilled_bytes + run->fetched_bytes);
        fewest = std::min(fewest, run->spilled_bytes + run->fetched_bytes);
    }
    INFO(percent << " %: bound " << bound.bytes << ", best " << fewest);
    CHECK(static_cast<double>(fewest) <= factor * static_cast<double>(bound.bytes));
}

}  // namespace

TEST_CASE("the bound of a program that fits is nothing", "[tiers][bound]") {
    ProgramWriter writer;
    writer.allocate(0, 10);
    writer.kernel({{0, false, true}});
    writer.kernel({{0, true, false}});
    const TierBound bound = tier_bound(writer.program, 10);
    CHECK(bound.runs);
    CHECK(bound.bytes == 0);
    CHECK(bound.least_capacity == 10);
    CHECK(tier_bound(TierProgram{}, 0).runs);
}

TEST_CASE("a kernel larger than the memory has no bound", "[tiers][bound]") {
    ProgramWriter writer;
    writer.allocate(0, 10);
    writer.allocate(1, 20);
    writer.kernel({{0, false, true}, {1, false, true}});
    const TierBound bound = tier_bound(writer.program, 29);
    CHECK_FALSE(bound.runs);
    CHECK(bound.least_capacity == 30);
    CHECK(tier_bound(writer.program, 30).runs);
}

// Two buffers take turns in room for one.
TEST_CASE("the bound counts a write's way out once and each way in", "[tiers][bound]") {
    ProgramWriter writer;
    writer.allocate(0, 10);
    writer.allocate(1, 10);
    writer.kernel({{0, false, true}});
    writer.kernel({{1, false, true}});
    for (int round = 0; round < 3; ++round) {
        writer.kernel({{0, true, false}});
        writer.kernel({{1, true, false}});
    }
    // Out twice, in six times; a byte less for rounding.
    const TierBound bound = tier_bound(writer.program, 10);
    CHECK(bound.bytes <= 80);
    CHECK(bound.bytes >= 79);
    CHECK(Exhaustive(writer.program, 10).fewest() == 80);
    // Half a buffer may stay in the relaxation, not in the truth.
    CHECK(tier_bound(writer.program, 15).bytes <= 80);
    CHECK(Exhaustive(writer.program, 15).fewest() == 80);
}

TEST_CASE("what was never written, or is overwritten, costs no way in", "[tiers][bound]") {
    ProgramWriter writer;
    writer.allocate(0, 10);
    writer.allocate(1, 10);
    writer.kernel({{1, false, true}});  // 0 was not written yet
    writer.kernel({{0, false, true}});
    writer.kernel({{1, false, true}});  // overwritten: out once for the first content
    writer.free(0);                     // dead since its write: but who knows
    const TierBound bound = tier_bound(writer.program, 10);
    CHECK(bound.bytes <= 20);
    CHECK(bound.bytes >= 19);
    CHECK(Exhaustive(writer.program, 10).fewest() == 20);
}

TEST_CASE("the bound is never above the true optimum of small programs, and near it",
          "[tiers][bound][one-thread]") {
    double bounds = 0;
    double truths = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const TierProgram program = random_program(seed);
        const Bytes least = tier_bound(program, ~Bytes{0}, 1).least_capacity;
        for (const Bytes capacity : {least, least + 2, least + 5}) {
            const TierBound bound = tier_bound(program, capacity, 1000);
            const Bytes truth = Exhaustive(program, capacity).fewest();
            INFO("seed " << seed << " capacity " << capacity);
            REQUIRE(bound.runs);
            CHECK(bound.bytes <= truth);
            bounds += static_cast<double>(bound.bytes);
            truths += static_cast<double>(truth);
        }
    }
    INFO("bounds " << bounds << " of " << truths);
    CHECK(bounds > 0.8 * truths);
    CHECK(truths > 0);
}

TEST_CASE("fewer rounds give a lower bound too, and the same rounds the same", "[tiers][bound]") {
    const TierProgram program = random_program(5);
    const Bytes capacity = tier_bound(program, ~Bytes{0}, 1).least_capacity;
    const Bytes best = tier_bound(program, capacity, 4000).bytes;
    const Bytes truth = Exhaustive(program, capacity).fewest();
    for (const std::uint32_t rounds : {0U, 1U, 5U, 50U, 500U}) {
        const TierBound bound = tier_bound(program, capacity, rounds);
        CHECK(bound.bytes <= truth);
        CHECK(bound.bytes == tier_bound(program, capacity, rounds).bytes);
        CHECK(bound.rounds <= rounds);
    }
    CHECK(tier_bound(program, capacity, 0).bytes == 0);
    CHECK(best > 0);
}

TEST_CASE("buffers that the program moves itself are left out", "[tiers][bound]") {
    ProgramWriter writer;
    writer.allocate(0, 10);
    writer.allocate(1, 10);
    writer.kernel({{0, false, true}});
    writer.kernel({{1, false, true}});
    writer.kernel({{0, true, false}});
    CHECK(tier_bound(writer.program, 10).bytes > 20);
    TierStep move;
    move.kind = StepKind::move;
    move.value = 0;
    writer.program.steps.push_back(move);
    CHECK(tier_bound(writer.program, 10).bytes == 0);
}

TEST_CASE("no policy moves fewer bytes than the bound on generated traces",
          "[tiers][bound][one-thread]") {
    check_policies(program_of("generate:training:steps=2,layers=2,hidden=256,sequence=128"), 70, 2);
    check_policies(program_of("generate:adversarial:events=2000,working_set=1GiB,buffer=16MiB,"
                              "pattern=scan"),
                   60, 2);
}

TEST_CASE("no policy moves fewer bytes than the bound on real traces",
          "[tiers][bound][one-thread]") {
    const std::filesystem::path folder = TIDEMARK_SOURCE_DIR "/traces/samples/uses";
    check_policies(program_of((folder / "query.jsonl.xz").string()), 60, 1.5);
    check_policies(program_of((folder / "serve.jsonl.xz").string()), 60, 1.05);
}

TEST_CASE("no policy moves fewer bytes than the bound on any real trace and size",
          "[tiers][bound][.long]") {
    const std::filesystem::path folder = TIDEMARK_SOURCE_DIR "/traces/samples/uses";
    for (const std::string name : {"gpt_activations", "gpt_var", "resnet", "query", "serve"}) {
        const TierProgram program = program_of((folder / (name + ".jsonl.xz")).string());
        for (const Bytes percent : {80U, 60U, 40U, 20U}) {
            INFO(name);
            if (share(program, percent) >= program.largest_kernel)
                check_policies(program, percent, 1e9);
        }
    }
}
