// compare_tiers: runs the units on a few threads, then ranks and compares in one.
#include "replay/analysis/tiers/compare_tiers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "backends/machines/machine_json.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "core/base/threads.h"

namespace tidemark {
namespace {

double rounded_mean(double value) {
    return std::round(value * 1e9) / 1e9;  // libraries differ in a logarithm's last digits
}

// Large programs get fewer rounds: a bound takes about as long as a few dozen replays.
std::uint32_t bound_rounds(const TierProgram& program) {
    constexpr std::uint64_t kUses = 400'000'000;
    constexpr std::uint64_t kFewest = 100;
    const std::uint64_t uses = program.uses.size() + program.steps.size() + 1;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(kUses / uses, kFewest, kTierBoundRounds));
}

Bytes capacity_of(const TierProgram& program, const GpuMemory& memory) {
    if (memory.bytes > 0)
        return memory.bytes;
    return static_cast<Bytes>(static_cast<double>(program.peak_bytes) * memory.share);
}

// Runs and bounds, by unit: for each program, for each size, first the bound, then the policies.
class TierUnits {
  public:
    TierUnits(const TierQuestion& question, const TierCompareOptions& options)
        : question_(question),
          options_(options),
          per_size_(question.policies.size() + 1),
          runs_(question.programs.size() * question.memories.size() * per_size_),
          bounds_(question.programs.size() * question.memories.size()) {
        for (const NamedProgram& program : question.programs)
            total_ += program.program->steps.size();
        total_ *= question.policies.size() * question.memories.size();
    }

    void run_all() {
        parallel_for(runs_.size(), options_.threads,
                     [this](std::size_t unit, unsigned) { return work(unit); });
    }

    const TierBound& bound(std::size_t program, std::size_t memory) const {
        return bounds_[program * question_.memories.size() + memory];
    }

    // Moved out. Errors: the first of any unit.
    Result<TierRun> take(std::size_t program, std::size_t memory, std::size_t policy) {
        std::optional<Result<TierRun>>& run =
            runs_[(program * question_.memories.size() + memory) * per_size_ + policy + 1];
        TM_CHECK(run.has_value());
        return std::move(*run);
    }

  private:
    bool work(std::size_t unit) {
        const std::size_t location = unit / per_size_;
        const NamedProgram& named = question_.programs[location / question_.memories.size()];
        const GpuMemory& memory = question_.memories[location % question_.memories.size()];
        if (unit % per_size_ == 0) {
            if (options_.bound)
                bounds_[location] = tier_bound(*named.program, capacity_of(*named.program, memory),
                                               bound_rounds(*named.program), options_.cancelled);
            return true;  // also when cancelled: the run after it fails then
        }
        TierScenario scenario = question_.common;
        scenario.trace = named.name;
        scenario.spill = question_.policies[unit % per_size_ - 1];
        scenario.gpu_memory = memory.bytes;
        scenario.gpu_fraction = memory.share;
        std::uint64_t before = 0;
        const TierListeners listeners{.progress = [&](std::uint64_t now) { advance(before, now); },
                                      .cancelled = options_.cancelled};
        runs_[unit] = run_tiers(*named.program, *question_.machine, scenario, listeners);
        if (!*runs_[unit])
            return false;
        advance(before, named.program->steps.size());
        return true;
    }

    // A unit is `now` steps far; `before` is what it said last, and becomes `now`.
    void advance(std::uint64_t& before, std::uint64_t now) {
        if (!options_.progress)
            return;
        const std::lock_guard lock(mutex_);
        done_ += now - before;
        before = now;
        options_.progress(done_, total_);
    }

    const TierQuestion& question_;
    const TierCompareOptions& options_;
    std::size_t per_size_;
    std::vector<std::optional<Result<TierRun>>> runs_;
    std::vector<TierBound> bounds_;
    std::mutex mutex_;
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
};

auto rank(const TierComparisonRow& row) {
    return std::tuple(row.memory, row.run.out_of_memory, row.run.makespan, moved_bytes(row.run),
                      row.policy);
}

// The rows of one size are [begin, end), best first: compared with the bound and with belady.
void relate(std::span<TierComparisonRow> rows, const TierBound& bound) {
    const auto belady = std::find_if(rows.begin(), rows.end(), [](const TierComparisonRow& row) {
        return row.run.policy == "belady";
    });
    const Bytes reference = belady == rows.end() ? 0 : moved_bytes(belady->run);
    bool found = false;
    for (TierComparisonRow& row : rows) {
        row.of_bound = bound.runs ? share_of(moved_bytes(row.run), bound.bytes) : 0;
        row.of_belady = share_of(moved_bytes(row.run), reference);
        row.best = !found && !row.knows_future;
        found = found || row.best;
    }
}

// "at 60 %: learned takes 1.05 times as long as with unlimited memory; it moves 12.3 GiB, ..."
std::string verdict(std::span<const TierComparisonRow> rows, const GpuMemory& memory) {
    const auto best = std::find_if(rows.begin(), rows.end(),
                                   [](const TierComparisonRow& row) { return row.best; });
    if (best == rows.end())
        return fmt::format("with {}: only bounds were requested", to_text(memory));
    const TierRun& run = best->run;
    std::string text = fmt::format("with {}: ", to_text(memory));
    if (run.out_of_memory > 0)
        return text + fmt::format("every policy runs out of memory; {} {} times",
                                  run.scenario.spill, format_count(run.out_of_memory));
    if (moved_bytes(run) == 0)
        return text + fmt::format("{} moves nothing", run.scenario.spill);
    text += fmt::format("{} is fastest, {:.3f} times as long as with unlimited memory; it moves {}",
                        run.scenario.spill, run.slowdown(), format_bytes(moved_bytes(run)));
    if (best->of_bound > 0)
        text += fmt::format(", {:.2f} times the minimum", best->of_bound);
    return text;
}

Result<TierComparisonBlock> compare_program(const TierQuestion& question, TierUnits& units,
                                            std::size_t number) {
    const NamedProgram& named = question.programs[number];
    TierComparisonBlock block;
    block.name = named.name;
    block.trace_hash = named.program->trace_hash;
    block.events = named.program->events;
    block.peak_bytes = named.program->peak_bytes;
    const std::uint64_t hash = machine_hash(*question.machine);
    for (std::size_t memory = 0; memory < question.memories.size(); ++memory) {
        block.capacities.push_back(capacity_of(*named.program, question.memories[memory]));
        block.bounds.push_back(units.bound(number, memory));
        for (std::size_t policy = 0; policy < question.policies.size(); ++policy) {
            TierComparisonRow row;
            TM_ASSIGN(row.run, units.take(number, memory, policy));
            TM_ASSIGN(const VictimSpec victim, parse_victim_policy(question.policies[policy]));
            row.run.machine_hash = hash;
            row.elapsed = std::exchange(row.run.elapsed, 0);
            row.memory = memory;
            row.policy = policy;
            row.knows_future = victim.policy->foresight == Foresight::oracle ||
                               question.common.prefetch == Prefetch::oracle;
            block.rows.push_back(std::move(row));
        }
    }
    std::sort(block.rows.begin(), block.rows.end(),
              [](const auto& a, const auto& b) { return rank(a) < rank(b); });
    for (std::size_t memory = 0; memory < question.memories.size(); ++memory) {
        const std::span rows =
            std::span(block.rows)
                .subspan(memory * question.policies.size(), question.policies.size());
        relate(rows, block.bounds[memory]);
        block.verdicts.push_back(verdict(rows, question.memories[memory]));
    }
    return block;
}

// One total for each policy and size.
std::vector<TierTotal> add_up(const std::vector<TierComparisonBlock>& programs) {
    struct Sum {
        TierTotal total;
        double bound_logarithms = 0;
        std::size_t bounded = 0;
    };

    std::map<std::pair<std::size_t, std::size_t>, Sum> sums;
    for (const TierComparisonBlock& program : programs) {
        for (const TierComparisonRow& row : program.rows) {
            Sum& sum = sums[{row.memory, row.policy}];
            sum.total.label = row.run.scenario.spill;
            sum.total.memory = row.memory;
            sum.total.policy = row.policy;
            sum.total.knows_future = row.knows_future;
            sum.total.slowdown += std::log(row.run.slowdown());
            sum.total.moved += moved_bytes(row.run);
            sum.total.stall += row.run.stalls.total();
            sum.total.out_of_memory += row.run.out_of_memory;
            sum.bound_logarithms += row.of_bound > 0 ? std::log(row.of_bound) : 0;
            sum.bounded += row.of_bound > 0 ? 1U : 0U;
        }
    }
    std::vector<TierTotal> totals;
    for (auto& [location, sum] : sums) {
        sum.total.slowdown =
            rounded_mean(std::exp(sum.total.slowdown / static_cast<double>(programs.size())));
        if (sum.bounded > 0)
            sum.total.of_bound =
                rounded_mean(std::exp(sum.bound_logarithms / static_cast<double>(sum.bounded)));
        totals.push_back(std::move(sum.total));
    }
    const auto key = [](const TierTotal& total) {
        return std::tuple(total.memory, total.out_of_memory, total.slowdown, total.moved,
                          total.policy);
    };
    std::sort(totals.begin(), totals.end(),
              [&key](const TierTotal& a, const TierTotal& b) { return key(a) < key(b); });
    for (std::size_t i = 0, chosen = SIZE_MAX; i < totals.size(); ++i) {
        totals[i].best = !totals[i].knows_future && totals[i].memory != chosen;
        chosen = totals[i].best ? totals[i].memory : chosen;
    }
    return totals;
}

Result<void> check(const TierQuestion& question) {
    if (question.programs.empty())
        return fail(ErrorCode::bad_option, "there is no trace to compare on", "compare");
    if (question.policies.empty())
        return fail(ErrorCode::bad_option, "there is no victim policy to compare", "--spill");
    if (question.memories.empty())
        return fail(ErrorCode::bad_option, "there is no size to compare", "--gpu-memory");
    for (const std::string& policy : question.policies)
        TM_TRY(parse_victim_policy(policy));
    return {};
}

}  // namespace

Result<GpuMemory> parse_gpu_memory(std::string_view text) {
    constexpr std::string_view kWhere = "--gpu-memory";
    const auto here = [kWhere](Error error) {
        error.where = kWhere;
        return error;
    };
    GpuMemory memory;
    if (!text.ends_with('%')) {
        TM_ASSIGN(const TypedSize size, parse_typed_size(text).map_error(here));
        memory.bytes = size.bytes;
    } else {
        TM_ASSIGN(const double percent,
                  parse_real(text.substr(0, text.size() - 1)).map_error(here));
        memory.share = percent / 100;
    }
    if (memory.bytes == 0 && (memory.share < 1e-6 || memory.share > 1e6))
        return fail(ErrorCode::bad_option,
                    fmt::format("'{}' is not a size for a GPU's memory", text), std::string(kWhere),
                    "write 60% (of the program's peak) or 80GiB, for example");
    return memory;
}

std::string to_text(const GpuMemory& memory) {
    return memory.bytes > 0 ? format_bytes(memory.bytes)
                            : fmt::format("{:.6g} %", memory.share * 100);
}

Bytes moved_bytes(const TierRun& run) {
    return run.spilled_bytes + run.fetched_bytes;
}

Result<TierComparison> compare_tiers(const TierQuestion& question,
                                     const TierCompareOptions& options) {
    TM_TRY(check(question));
    TierUnits units(question, options);
    units.run_all();

    TierComparison comparison;
    comparison.machine = question.machine->name;
    comparison.machine_hash = machine_hash(*question.machine);
    comparison.memories.assign(question.memories.begin(), question.memories.end());
    for (std::size_t i = 0; i < question.programs.size(); ++i) {
        TM_ASSIGN(TierComparisonBlock block, compare_program(question, units, i));
        comparison.programs.push_back(std::move(block));
    }
    if (question.programs.size() > 1)
        comparison.totals = add_up(comparison.programs);
    return comparison;
}

}  // namespace tidemark
