// fit: a search for each row, on a few threads; then the positions at which runs end, and the
// answer.
#include "replay/analysis/fit/fit.h"

#include <algorithm>
#include <array>
#include <mutex>

#include <fmt/format.h>

#include "backends/sim/sim_device.h"
#include "core/base/check.h"
#include "core/base/text.h"
#include "core/base/threads.h"
#include "replay/analysis/fit/fit_search.h"
#include "replay/analysis/spread/spread.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/analysis/trace/candidates.h"
#include "replay/analysis/trace/offered_policies.h"
#include "replay/record/allocator_family.h"
#include "replay/record/explained_record.h"

namespace tidemark {
namespace {

// The replays of a row, for the estimate of the progress.
constexpr std::uint64_t kReplaysExpected = 18;

// Adds up the replays of all rows; calls the listener one thread at a time.
class Counter {
  public:
    Counter(const FitQuestion& question, std::size_t rows)
        : listener_(question.progress), done_(rows), total_(rows * kReplaysExpected) {}

    void replayed(std::size_t row) {
        const std::lock_guard lock(mutex_);
        done_[row] = std::min(done_[row] + 1, kReplaysExpected - 1);
        report_progress();
    }

    void finished(std::size_t row) {
        const std::lock_guard lock(mutex_);
        done_[row] = kReplaysExpected;
        report_progress();
    }

  private:
    void report_progress() const {
        if (!listener_)
            return;
        std::uint64_t sum = 0;
        for (const std::uint64_t each : done_)
            sum += each;
        listener_(sum, total_);
    }

    const std::function<void(std::uint64_t, std::uint64_t)>& listener_;
    std::mutex mutex_;
    std::vector<std::uint64_t> done_;
    std::uint64_t total_;
};

Result<void> check(const FitQuestion& question) {
    const Bytes limit = question.limit.value_or(0);
    if (question.memory > 0 && limit > 0)
        return fail(ErrorCode::bad_option, "contradicts --memory", "--limit",
                    "give either a card's size or a process's limit");
    const Bytes overhead = question.overhead.value_or(0);
    if (question.memory > 0 && overhead >= question.memory)
        return fail(ErrorCode::bad_option,
                    fmt::format("an overhead of {} leaves no memory on a card with {}",
                                format_bytes(overhead), format_bytes(question.memory)),
                    "--overhead");
    if (std::max({question.memory, limit, overhead}) > SimDevice::kLargestCapacity / 4)
        return fail(ErrorCode::bad_option,
                    fmt::format("sizes can be at most {} here",
                                format_bytes(SimDevice::kLargestCapacity / 4)),
                    "--memory");
    return {};
}

Result<std::vector<Candidate>> candidates(const Trace& trace, const FitQuestion& question,
                                          std::vector<std::string>& notes) {
    std::vector<std::string> texts = question.policies;
    if (texts.empty()) {
        TM_ASSIGN(texts, usual_candidates(trace, question.limit.value_or(0) > 0));
    }
    return beside_recorded(trace.info(), texts, notes);
}

Result<std::vector<FitRow>> search(const Trace& trace, const FitQuestion& question,
                                   const CostProfile& profile,
                                   const std::vector<Candidate>& chosen) {
    std::vector<std::optional<Result<FitRow>>> found(chosen.size());
    Counter counter(question, chosen.size());
    parallel_for(chosen.size(), question.threads, [&](std::size_t i, unsigned) {
        FitSearch search(trace, question, profile, [&counter, i] { counter.replayed(i); });
        found[i] = search.run(chosen[i].policy);
        counter.finished(i);
        return found[i]->has_value();
    });
    std::vector<FitRow> rows;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const bool stopped =
            !found[i] || (!found[i]->has_value() && found[i]->error().code == ErrorCode::cancelled);
        if (stopped && question.stop && question.stop()) {
            if (rows.empty())
                return fail(ErrorCode::cancelled, "interrupted before any answer was complete");
            break;
        }
        TM_CHECK(found[i].has_value());
        TM_ASSIGN(FitRow row, std::move(*found[i]));
        row.recorded = chosen[i].recorded;
        rows.push_back(std::move(row));
    }
    return rows;
}

// Finds the position in the program at which each run ends, and what else one pass over the trace
// shows.
Result<void> set_death_positions(const Trace& trace, FitReport& report) {
    std::vector<std::uint64_t> events;
    for (const FitRow& row : report.rows)
        if (row.died_at)
            events.push_back(row.died_at->refusal.event);
    TM_ASSIGN(EventPositions found, find_event_positions(trace, events));
    auto position = found.positions.begin();
    for (FitRow& row : report.rows)
        if (row.died_at)
            row.died_at->position = std::move(*position++);
    report.recorded_refusals = found.recorded_refusals;
    if (found.has_retired)
        report.notes.emplace_back(
            "frees that waited for the device wait for as many events here as in the recording, "
            "except in the ranges");
    return {};
}

std::string device_text(std::span<const Bytes> peaks) {
    constexpr std::size_t kNamedMost = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(peaks.size(), kNamedMost); ++i)
        text += fmt::format("{} {} on device {}", i == 0 ? "" : ",", format_bytes(peaks[i]), i);
    if (peaks.size() > kNamedMost)
        text += fmt::format(" and so on, for {} more", peaks.size() - kNamedMost);
    return text;
}

void add_notes(const TraceInfo& info, FitReport& report) {
    if (report.recorded_refusals > 0)
        report.notes.push_back(fmt::format(
            "the recorded program itself ran out of memory {}; `fit` counts whether those requests "
            "would succeed, but can't know what the program would have done with the memory",
            format_times(report.recorded_refusals)));
    if (info.begins_inside)
        report.notes.emplace_back(
            "the recording starts in the middle of the run: blocks that were already live are "
            "placed again, as if allocated all at once, and earlier peaks are not known; sizes are "
            "lower bounds");
    if (info.cut_off)
        report.notes.emplace_back(
            "the recording is cut off: what happened later is not known; sizes are lower bounds");
    if (info.devices.size() > 1)
        report.notes.push_back(fmt::format(
            "sizes are for each of {} devices; peaks are sums over the devices; {} peaks at{}",
            info.devices.size(), report.rows[report.answer].policy,
            device_text(report.rows[report.answer].unlimited.device_peaks)));
}

// How much the rows' peaks differ from run to run, and whether the answer's might not fit in some
// runs.
Result<void> spread_rows(const Trace& trace, const CostProfile& profile, FitReport& report) {
    const FitQuestion& question = report.question;
    const std::size_t rows = report.rows.size();
    std::vector<TrialSetup>
        setups;  // of each row without a limit; then, if requested, with the given size
    for (const FitRow& row : report.rows) {
        TM_ASSIGN(PolicySpec policy, parse_policy(row.policy));
        setups.push_back({.policy = std::move(policy),
                          .profile = &profile,
                          .limit = Bytes{0},
                          .simulated = true});
    }
    for (std::size_t i = 0; report.requested() && i < rows; ++i) {
        TrialSetup& setup = setups.emplace_back(TrialSetup(setups[i]));
        setup.memory = question.memory;
        setup.overhead = question.memory > 0 ? question.overhead.value_or(0) : 0;
        setup.limit = question.limit.value_or(0);
    }
    TM_ASSIGN(const auto runs,
              sample_runs(trace, setups, {.runs = question.spread, .threads = question.threads}));
    for (std::size_t i = 0; i < std::min(rows, runs.size()); ++i) {
        report.rows[i].peak_spread =
            spread_around(report.rows[i].unlimited.peak.reserved, peaks_of(runs[i]));
        if (report.requested())
            report.rows[i].granted_runs = static_cast<unsigned>(
                std::ranges::count(runs[rows + i], std::uint64_t{0}, &SampledRun::out_of_memory));
    }
    return {};
}

void note_spread(FitReport& report) {
    const FitRow& row = report.rows[report.answer];
    if (!row.peak_spread)
        return;
    std::string text =
        fmt::format("from run to run {} peaks at {} ({} replays, each like a possible other run)",
                    row.policy, range_text(*row.peak_spread), row.peak_spread->runs);
    if (row.granted_runs)
        text += fmt::format("; with the requested size, {} of them succeed",
                            *row.granted_runs == row.peak_spread->runs
                                ? std::string("all")
                                : format_count(*row.granted_runs));
    report.notes.push_back(std::move(text));
}

// Better for the answer: survives with the memory in question, then the smaller memory, then the
// earlier.
bool better(const FitRow& a, const FitRow& b) {
    if (a.survives != b.survives)
        return a.survives;
    const auto need = [](const FitRow& row) { return row.smallest_memory - 1; };  // none: the last
    return need(a) < need(b);
}

std::size_t answering_row(const FitReport& report) {
    if (report.question.policies.empty())
        return 0;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
        const bool named =
            std::ranges::any_of(report.question.policies, [&](const std::string& text) {
                const Result<PolicySpec> spec = parse_policy(text);
                return spec && spec->text() == report.rows[i].policy;
            });
        if (named && (!best || better(report.rows[i], report.rows[*best])))
            best = i;
    }
    return best.value_or(0);
}

}  // namespace

Result<FitReport> fit(const Trace& trace, const FitQuestion& requested) {
    FitReport report;
    FitQuestion question = requested;
    const ExplainedRecord* const record = explained_record(trace);
    if (!question.limit && question.memory == 0 && record != nullptr) {
        const RecordedDevice* const limited = limited_device(trace);
        question.limit = limited == nullptr ? 0 : limited->limit;
        report.limit_text = limited == nullptr ? std::string() : record->limit_text();
    }
    if (!question.overhead)
        question.overhead = card_overhead(trace, question.memory);
    TM_TRY(check(question));
    report.question = question;
    report.question.progress = {};
    TM_ASSIGN(const std::vector<Candidate> chosen, candidates(trace, question, report.notes));
    TM_ASSIGN(const CostProfile profile, load_profile(question.profile));
    report.profile_hash = profile.hash();
    TM_ASSIGN(report.rows, search(trace, question, profile, chosen));
    report.interrupted = report.rows.size() < chosen.size();
    TM_TRY(set_death_positions(trace, report));
    add_notes(trace.info(), report);
    std::vector<std::string> policies;
    for (const FitRow& row : report.rows)
        policies.push_back(row.policy);
    for (std::string& limit : model_limits(trace.info(), policies))
        report.notes.push_back(std::move(limit));
    report.answer = answering_row(report);
    TM_ASSIGN(report.offline, offline_bound(trace, {.search = question.bound,
                                                    .threads = question.threads,
                                                    .stop = question.stop}));
    TM_TRY(spread_rows(trace, profile, report));
    note_spread(report);
    const auto best = std::ranges::min_element(
        report.rows, [](const FitRow& a, const FitRow& b) { return better(a, b); });
    if (question.memory > 0 && !report.interrupted) {
        TM_ASSIGN(report.largest_steps, largest_steps(trace, {.memory = question.memory,
                                                              .overhead = question.overhead,
                                                              .policies = {best->policy},
                                                              .profile = question.profile,
                                                              .threads = question.threads,
                                                              .stop = question.stop}));
    }
    return report;
}

Result<std::vector<std::string>> usual_candidates(const Trace& trace, bool limited) {
    TM_ASSIGN(std::vector<std::string> offered, offered_policies(trace));
    if (!offered.empty()) {
        offered.emplace_back("extent");
        return offered;
    }
    std::vector<std::string> usual{
        "torch",
        "torch:expandable_segments=true",
        "torch:max_split_size_mb=64",
        "torch:max_split_size_mb=256",
        "torch:roundup_power2_divisions=4",
        "torch:roundup_power2_divisions=16",
        "torch:expandable_segments=true,roundup_power2_divisions=16",
    };
    if (limited)
        usual.emplace_back("torch:garbage_collection_threshold=0.8");
    return usual;
}

}  // namespace tidemark
