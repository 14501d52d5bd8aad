// Compares each device of a trace with the model, and combines the results.
#include "replay/record/verify.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/text.h"
#include "replay/record/device_record.h"
#include "replay/record/explained_record.h"
#include "replay/record/inferred_limit.h"
#include "replay/record/record_search.h"

namespace tidemark {
namespace {

// Of a device of unknown size: more than any has.
constexpr Bytes kUnknownMemory = Bytes{1} << 42;

constexpr std::string_view kSwitch = "expandable_segments";

// The same policy with expandable_segments the other way, if it has that option.
Result<std::optional<PolicySpec>> switched(const PolicySpec& policy) {
    std::string text(policy.policy->name);
    char mark = ':';
    bool found = false;
    for (const auto& [name, value] : policy.options.all()) {
        std::string_view other = value;
        if (name == kSwitch) {
            found = true;
            other = policy.options.boolean(name) ? "false" : "true";
        } else if (policy.options.is_default(name)) {
            continue;
        }
        text += fmt::format("{}{}={}", mark, name, other);
        mark = ',';
    }
    if (!found)
        return std::nullopt;
    TM_ASSIGN(PolicySpec spec, parse_policy(text));
    return std::optional(std::move(spec));
}

// What was found about pools: of each segment that isn't in the pool that the trace says, and what
// that means for the requests.
void add_pools(VerifyReport& report, const DeviceRecord& record, const PoolChoices& chosen) {
    for (const SegmentLife& life : record.lives) {
        const PoolId pool = pool_of(record, life, chosen);
        if (pool != PoolId{record.steps[life.birth].event.aux})
            report.facts.push_back({.kind = InferredFact::Kind::pool_of_segment,
                                    .device = record.device,
                                    .event = record.steps[life.birth].index,
                                    .pool = pool});
    }
    for (const auto& [step, pool] : changed_pools(record, chosen))
        report.pools.push_back({record.steps[step].index, pool});
}

void add(VerifyReport& report, const DeviceRecord& record, DeviceFindings findings) {
    ReplayFindings& found = findings.found;
    report.decisions += found.decisions;
    report.mismatches += found.mismatches;
    report.final_blocks += found.final_blocks;
    report.peak += found.peak;
    report.device_peaks.push_back(found.peak);
    report.stats += findings.stats;
    for (const InferredFact& fact : found.facts)
        report.inferred_trims += fact.kind == InferredFact::Kind::emptied_caches ? 1U : 0U;
    report.facts.insert(report.facts.end(), found.facts.begin(), found.facts.end());
    if (findings.hypotheses.pools)
        add_pools(report, record, findings.chosen);
    if (found.first_mismatch &&
        (!report.first_mismatch || found.first_mismatch->event < report.first_mismatch->event))
        report.first_mismatch = std::move(found.first_mismatch);
}

// A limit and how far the record agrees with it.
struct LimitTrial {
    Bytes limit = 0;
    ModelSpec spec;
    DeviceFindings straight;

    std::uint64_t agrees_until() const {
        const auto& first = straight.found.first_mismatch;
        return first ? first->event : ~std::uint64_t{0};
    }
};

// One device under `policy`; without a limit, under those that the record points to as well. The
// one that agrees with it longest is examined.
Result<RecordedDevice> explain_device(DeviceRecord& record, const PolicySpec& policy, Bytes memory,
                                      Bytes total,
                                      const std::function<void(std::uint64_t)>& progress) {
    RecordedDevice run;
    record.max_split = max_split_of(policy);
    std::vector<Bytes> limits;
    if (policy.keeps_limit() && policy.options.is_default("limit"))
        limits = infer_limits(record, policy);
    limits.push_back(0);
    std::optional<LimitTrial> best;
    for (const Bytes limit : limits) {
        LimitTrial trial{limit, {}, {}};
        TM_ASSIGN(trial.spec.policy, policy.with_limit(limit));
        TM_ASSIGN(trial.spec.switched, switched(trial.spec.policy));
        trial.spec.capacity = memory;
        TM_ASSIGN(trial.straight, replay_straight(record, trial.spec, true, progress));
        if (!best || trial.agrees_until() > best->agrees_until())
            best = std::move(trial);
        if (best->straight.found.mismatches == 0)
            break;
    }
    DeviceFindings found = std::move(best->straight);
    run.model = best->spec;
    if (found.found.mismatches != 0) {
        TM_ASSIGN(found, replay_straight(record, best->spec, false, progress));
        TM_ASSIGN(DeviceFindings searched, search_record(record, best->spec));
        if (searched.found.mismatches < found.found.mismatches)
            found = std::move(searched);
    }
    if (best->limit != 0)
        found.found.facts.push_back({.kind = InferredFact::Kind::limit,
                                     .device = record.device,
                                     .event = 0,
                                     .count = best->limit});
    run.limit = best->limit;
    run.source = best->limit != 0 ? LimitSource::inferred : LimitSource::settings;
    if (run.limit == 0 && policy.keeps_limit())
        run.limit = policy.options.bytes("limit");
    run.card = recorded_card(record, total);
    if (run.card.room != 0 && (run.limit == 0 || run.card.room < run.limit)) {
        run.limit = run.card.room;
        run.source = LimitSource::card;
    }
    for (const RecordedStep& step : record.steps)
        run.refusals += step.event.kind == EventKind::out_of_memory ? 1U : 0U;
    run.findings = std::move(found);
    return run;
}

}  // namespace

std::string_view to_text(InferredFact::Kind kind) {
    constexpr std::array<std::string_view, 8> kNames{"empty_cache",      "ended_pool",
                                                     "late_completions", "switched_segments",
                                                     "pool_of_segment",  "out_of_memory_in_scope",
                                                     "device_full",      "limit"};
    const auto index = static_cast<std::size_t>(kind);
    TM_CHECK(index < kNames.size());
    return kNames[index];
}

Result<VerifyReport> verify(const Trace& trace, const PolicySpec& unlimited,
                            const VerifyOptions& options, ExplainedRecord* run) {
    TM_ASSIGN(std::vector<DeviceRecord> records, device_records(trace));
    std::uint64_t truths = 0;
    for (const DeviceRecord& record : records)
        truths += record.truths;
    // RMM's view of the driver's pool has no upstream calls: only addresses are known there.
    if (truths == 0 && trace.info().format != "rmm-decisions")
        return fail(ErrorCode::unsupported,
                    "the trace does not say what the recorded system decided", {},
                    "verify needs a PyTorch snapshot, a log of the decisions of RMM, CuPy or the "
                    "driver's pool, or a .tmk of one");
    VerifyReport report;
    report.events = trace.info().event_count;
    TM_ASSIGN(const PolicySpec policy, unlimited.with_limit(options.limit));
    std::uint64_t done = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        DeviceRecord& record = records[i];
        const Bytes recorded = trace.info().devices[i].total_memory;
        Bytes memory = options.memory != 0 ? options.memory
                       : recorded != 0     ? recorded
                                           : kUnknownMemory;
        if (options.limit != 0 && !policy.keeps_limit())
            memory = std::min(memory, options.limit);
        const auto progress = [&](std::uint64_t steps) {
            if (options.progress)
                options.progress(done + steps);
        };
        TM_ASSIGN(RecordedDevice found, explain_device(record, policy, memory, recorded, progress));
        add(report, record, found.findings);
        if (run != nullptr)
            run->devices.push_back(std::move(found));
        done += record.steps.size();
    }
    report.policy = policy.text();
    if (run != nullptr) {
        run->policy = unlimited;
        run->peak = report.peak;
        run->stats = report.stats;
        run->decisions = report.decisions;
        run->mismatches = report.mismatches;
    }
    return report;
}

}  // namespace tidemark
