// compare: runs the units on a few threads, then ranks and compares in one.
#include "replay/analysis/compare/compare.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/threads.h"
#include "replay/analysis/compare/pareto.h"
#include "replay/analysis/compare/totals.h"
#include "replay/analysis/compare/verdict.h"
#include "replay/analysis/spread/spread.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/record/allocator_family.h"
#include "replay/record/explained_record.h"
#include "replay/record/recorded_policy.h"

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 8> kCompareColumns{
    "peak_reserved_bytes",
    "overhead_ratio",
    "mean_reserved_bytes",
    "device_calls",
    "driver_ns",
    "stall_ns",
    "retries",
    "out_of_memory",
};

// Adds up the progress of all units; calls the listener one thread at a time.
class Progress {
  public:
    Progress(std::span<const NamedTrace> traces, std::size_t scenarios,
             const CompareOptions& options)
        : listener_(options.progress) {
        for (const NamedTrace& trace : traces)
            total_ += trace.trace->info().event_count * scenarios;
    }

    // A unit is `now` events far; `before` is what it said last, and becomes `now`.
    void advance(std::uint64_t& before, std::uint64_t now) {
        if (!listener_)
            return;
        const std::lock_guard lock(mutex_);
        done_ += now - before;
        before = now;
        listener_(done_, total_);
    }

  private:
    const std::function<void(std::uint64_t, std::uint64_t)>& listener_;
    std::mutex mutex_;
    std::uint64_t done_ = 0;
    std::uint64_t total_ = 0;
};

// The units of one comparison, taken by whichever thread is free; see parallel_for for the order.
class Units {
  public:
    Units(std::span<const NamedTrace> traces, std::span<const Scenario> scenarios,
          const CompareOptions& options)
        : traces_(traces),
          scenarios_(scenarios),
          progress_(traces, scenarios.size(), options),
          stop_(options.stop),
          results_(traces.size() * scenarios.size()) {}

    // Runs all on `threads` threads (0 = one for each core).
    void run_on(unsigned threads) {
        parallel_for(results_.size(), threads,
                     [this](std::size_t unit, unsigned) { return work(unit); });
    }

    bool has(std::size_t unit) const { return results_[unit].has_value(); }

    // The run of that unit, moved out. Errors: the first of any unit.
    Result<Run> take(std::size_t unit) {
        TM_CHECK(results_[unit].has_value());
        return std::move(*results_[unit]);
    }

  private:
    bool work(std::size_t unit) {
        if (stop_ && stop_())
            return false;
        const NamedTrace& trace = traces_[unit / scenarios_.size()];
        Scenario scenario = scenarios_[unit % scenarios_.size()];
        scenario.trace = trace.name;
        scenario.simulated = true;
        std::uint64_t before = 0;
        RunListeners listeners;
        listeners.progress = [&](std::uint64_t events_done) {
            progress_.advance(before, events_done);
        };
        results_[unit] = run(*trace.trace, scenario, listeners);
        if (!*results_[unit])
            return false;
        progress_.advance(before, (*results_[unit])->summary.events);
        return true;
    }

    std::span<const NamedTrace> traces_;
    std::span<const Scenario> scenarios_;
    Progress progress_;
    const std::function<bool()>& stop_;
    std::vector<std::optional<Result<Run>>> results_;
};

// What ranks a row, smallest first.
auto rank(const Run& run) {
    return std::tuple(times_refused(run), run.measurement("peak_reserved_bytes").whole,
                      device_time(run));
}

// Gives each row the shortest name that differs from the others.
void name_rows(std::vector<ComparisonRow>& rows, std::span<const Scenario> scenarios) {
    const auto alike = [&rows] {
        std::vector<bool> found;
        for (const ComparisonRow& row : rows)
            found.push_back(std::ranges::count(rows, row.label, &ComparisonRow::label) > 1);
        return found;
    };
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].label = rows[i].run.policy_name;
    std::vector<bool> shared = alike();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (shared[i])
            rows[i].label = rows[i].run.scenario.policy;
        if (scenarios[i].policy.empty())
            rows[i].label += " (as recorded)";
    }
    shared = alike();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (shared[i])
            rows[i].label += fmt::format(" #{}", i + 1);
    }
}

// Whether `a` is better than `b`, as figures.
bool better(const Measurement& a, const Measurement& b) {
    return a.better == Better::more ? a.value() > b.value() : a.value() < b.value();
}

// Fills column `column` of every row: change to the baseline, and the best. Only rows with the
// fewest failed requests compete: a policy that serves less needs less.
void fill_column(std::vector<ComparisonRow>& rows, std::size_t column, std::size_t baseline) {
    const Measurement base = rows[baseline].run.measurement(kCompareColumns[column]);
    std::uint64_t fewest = times_refused(rows.front().run);
    for (const ComparisonRow& row : rows)
        fewest = std::min(fewest, times_refused(row.run));
    std::optional<Measurement> best;
    bool differ = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Measurement& mine = rows[i].run.measurement(kCompareColumns[column]);
        ComparisonCell& cell = rows[i].cells[column];
        cell.measurement = mine;
        cell.comparable = i != baseline && base.value() > 0 && mine.unit != Unit::ratio;
        if (cell.comparable)
            cell.change = (mine.value() - base.value()) / base.value();
        differ = differ || mine.value() != base.value();
        if (times_refused(rows[i].run) == fewest && (!best || better(mine, *best)))
            best = mine;
    }
    for (ComparisonRow& row : rows) {
        ComparisonCell& cell = row.cells[column];
        cell.best = differ && cell.measurement.better != Better::neither &&
                    times_refused(row.run) == fewest && cell.measurement.value() == best->value();
    }
}

// Only rows with the fewest refusals compete, as for the best of a column.
void mark_front(std::vector<ComparisonRow>& rows) {
    std::uint64_t fewest = times_refused(rows.front().run);
    for (const ComparisonRow& row : rows)
        fewest = std::min(fewest, times_refused(row.run));
    std::vector<MemoryAndTime> points;
    for (const ComparisonRow& row : rows)
        points.push_back({static_cast<double>(row.run.measurement("peak_reserved_bytes").whole),
                          static_cast<Nanoseconds>(row.run.measurement("driver_ns").whole),
                          times_refused(row.run) == fewest});
    const std::vector<bool> front = pareto_front(points);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].pareto = front[i];
}

// Marks rows of allocators other than the recorded one. None if that is not known.
void mark_others(std::vector<ComparisonRow>& rows, const TraceInfo& info) {
    const Result<RecordedPolicy> recorded = recorded_policy(info);
    if (!recorded)
        return;
    const std::string own = recorded->text.substr(0, recorded->text.find(':'));
    for (ComparisonRow& row : rows)
        row.other_allocator =
            row.run.policy_name != own && !offers_policy(info, row.run.policy_name);
}

// How many of the ranked rows, or totals, verdicts may recommend: all, or those of the recorded
// allocator, which then come first.
template <class Row>
std::size_t spoken_for(std::vector<Row>& rows, bool settings_first) {
    const auto baseline = std::ranges::find(rows, true, &Row::baseline);
    if (!settings_first || baseline->other_allocator)
        return rows.size();
    const auto others =
        std::ranges::stable_partition(rows, [](const Row& row) { return !row.other_allocator; });
    return rows.size() - others.size();
}

// The block of one trace from its runs in the order of the scenarios.
TraceComparison compare_runs(const NamedTrace& trace, std::vector<Run> runs,
                             std::span<const Scenario> scenarios, bool settings_first) {
    TraceComparison block;
    block.name = trace.name;
    block.trace_hash = trace.trace->recorded_hash();
    block.events = trace.trace->info().event_count;
    for (Run& run : runs) {
        ComparisonRow row;
        row.elapsed = run.summary.elapsed;
        run.summary.elapsed = 0;
        run.summary.elapsed_total = 0;
        row.run = std::move(run);
        row.scenario = block.rows.size();
        row.cells.resize(kCompareColumns.size());
        block.rows.push_back(std::move(row));
    }
    block.rows.front().baseline = true;
    name_rows(block.rows, scenarios);
    mark_others(block.rows, trace.trace->info());
    for (std::size_t column = 0; column < kCompareColumns.size(); ++column)
        fill_column(block.rows, column, 0);
    mark_front(block.rows);
    std::ranges::stable_sort(block.rows, {},
                             [](const ComparisonRow& row) { return rank(row.run); });

    const bool timed = trace.trace->info().duration > 0;
    const std::span<const ComparisonRow> own =
        std::span(block.rows).first(spoken_for(block.rows, settings_first));
    const ComparisonRow* const chosen = recommended(own, timed);
    for (ComparisonRow& row : block.rows)
        row.recommended = &row == chosen;
    block.verdict = verdict(own, timed);
    return block;
}

// The recorded run of a trace, if it is one and the scenarios don't request other conditions.
Result<std::optional<ComparisonRow>> recorded_row(const NamedTrace& trace,
                                                  const Scenario& conditions) {
    const Result<RecordedPolicy> policy = recorded_policy(trace.trace->info());
    if (explained_record(*trace.trace) == nullptr || !policy)
        return std::optional<ComparisonRow>();
    Scenario scenario = conditions;
    scenario.trace = trace.name;
    scenario.policy = {};
    TM_ASSIGN(Run recorded, run(*trace.trace, scenario));
    if (!recorded.as_recorded)
        return std::optional<ComparisonRow>();
    ComparisonRow row;
    row.elapsed = std::exchange(recorded.summary.elapsed, 0);
    recorded.summary.elapsed_total = 0;
    row.label = recorded.policy_name + " (the recorded run)";
    for (const std::string_view column : kCompareColumns)
        row.cells.push_back({.measurement = recorded.measurement(column)});
    row.run = std::move(recorded);
    return std::optional(std::move(row));
}

// Where peaks differ from run to run: does the recommended row really peak below the baseline?
void weigh_spread(TraceComparison& block, const std::vector<SampledPeaks>& peaks) {
    if (peaks.empty())
        return;
    const auto chosen = std::ranges::find(block.rows, true, &ComparisonRow::recommended);
    const auto base = std::ranges::find(block.rows, true, &ComparisonRow::baseline);
    if (chosen == block.rows.end() || chosen == base) {
        block.verdict += fmt::format("; from run to run {} peaks at {}", base->label,
                                     range_text(*base->run.peak_spread));
        return;
    }
    const SavingSpread saving = saving_of(peaks[base->scenario], peaks[chosen->scenario]);
    if (saving.p5 > 0) {
        block.verdict +=
            fmt::format("; from run to run {} {}: {} for {}", chosen->label, saving_text(saving),
                        range_text(*chosen->run.peak_spread), range_text(*base->run.peak_spread));
        return;
    }
    block.verdict += fmt::format("; but from run to run {} cannot be told apart from {}: it {}",
                                 chosen->label, base->label, saving_text(saving));
    if (times_refused(base->run) == 0) {
        chosen->recommended = false;
        base->recommended = true;
    }
}

// Whether variants of the trace give the same result as the trace itself.
void weigh_jitter(TraceComparison& block, const std::vector<JitteredPeaks>& jittered) {
    if (jittered.empty())
        return;
    for (ComparisonRow& row : block.rows)
        row.jitter = jittered[row.scenario];
    const auto chosen = std::ranges::find(block.rows, true, &ComparisonRow::recommended);
    const auto base = std::ranges::find(block.rows, true, &ComparisonRow::baseline);
    const unsigned variants = jittered.front().peak.runs;
    if (chosen == block.rows.end() || chosen == base) {
        const auto luckiest = std::ranges::max_element(
            block.rows, {}, [](const ComparisonRow& row) { return row.jitter->lowest; });
        block.verdict += fmt::format("; of {} jittered variants {} peaks lowest in {}", variants,
                                     luckiest->label, luckiest->jitter->lowest);
        return;
    }
    const bool luck = chosen->jitter->saving.p5 <= 0;
    block.verdict += fmt::format("; {} {} jittered variants of the trace it {}",
                                 luck ? "but that may be luck: in" : "in 90 % of", variants,
                                 saving_text(chosen->jitter->saving));
}

// What the baseline needed on each trace.
std::vector<RankRow> rank_rows(const Comparison& comparison) {
    std::vector<RankRow> rows;
    for (const TraceComparison& trace : comparison.traces) {
        const auto baseline = std::ranges::find(trace.rows, true, &ComparisonRow::baseline);
        rows.push_back({.name = trace.name,
                        .peak_requested = baseline->run.measurement("peak_requested_bytes").whole,
                        .peak_reserved = baseline->run.measurement("peak_reserved_bytes").whole});
    }
    return rows;
}

}  // namespace

std::span<const std::string_view> comparison_columns() {
    return kCompareColumns;
}

Result<Comparison> compare(std::span<const NamedTrace> traces, std::span<const Scenario> scenarios,
                           const CompareOptions& options) {
    if (traces.empty())
        return fail(ErrorCode::bad_option, "there is no trace to compare on", "compare");
    if (scenarios.empty())
        return fail(ErrorCode::bad_option, "there is no policy to compare", "--policy");
    Units units(traces, scenarios, options);
    units.run_on(options.threads);

    Comparison comparison;
    comparison.settings_first = options.settings_first;
    bool timed = true;
    for (std::size_t t = 0; t < traces.size(); ++t) {
        std::vector<Run> runs;
        for (std::size_t s = 0; s < scenarios.size(); ++s) {
            if (options.stop && options.stop() && !units.has(t * scenarios.size() + s)) {
                comparison.interrupted = true;
                break;
            }
            TM_ASSIGN(Run run, units.take(t * scenarios.size() + s));
            runs.push_back(std::move(run));
        }
        if (runs.empty())
            break;
        const std::span<const Scenario> made = scenarios.first(runs.size());
        TM_ASSIGN(const std::vector<SampledPeaks> peaks,
                  spread_runs(*traces[t].trace, runs,
                              {.runs = comparison.interrupted ? 0 : options.spread,
                               .threads = options.threads}));
        std::vector<JitteredPeaks> jittered;
        if (options.jitter > 0 && !comparison.interrupted) {
            TM_ASSIGN(jittered,
                      jitter_runs(*traces[t].trace, runs, options.jitter, options.threads));
        }
        comparison.traces.push_back(
            compare_runs(traces[t], std::move(runs), made, options.settings_first));
        if (!comparison.interrupted) {
            TM_ASSIGN(comparison.traces.back().recorded,
                      recorded_row(traces[t], scenarios.front()));
        }
        std::vector<std::string> policies;
        for (const Scenario& scenario : made)
            policies.push_back(scenario.policy);
        comparison.traces.back().notes = model_limits(traces[t].trace->info(), policies);
        weigh_spread(comparison.traces.back(), peaks);
        weigh_jitter(comparison.traces.back(), jittered);
        timed = timed && traces[t].trace->info().duration > 0;
    }
    if (are_ranks(traces) && !comparison.interrupted) {
        TM_ASSIGN(comparison.ranks, compare_ranks(traces, rank_rows(comparison)));
    }
    if (comparison.traces.empty())
        return fail(ErrorCode::cancelled, "interrupted before any replay was complete");
    if (traces.size() == 1 || comparison.interrupted) {
        comparison.verdict = comparison.traces.front().verdict;
        return comparison;
    }
    comparison.totals = add_up(comparison.traces, scenarios);
    const std::span<const ComparisonTotal> own =
        std::span(comparison.totals).first(spoken_for(comparison.totals, options.settings_first));
    const ComparisonTotal* const chosen = recommended(own, timed);
    for (ComparisonTotal& total : comparison.totals)
        total.recommended = &total == chosen;
    comparison.verdict = verdict(own, traces.size(), timed);
    return comparison;
}

}  // namespace tidemark
