// The run once more for each case and remedy.
#include "replay/analysis/advise/out_of_memory.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/check.h"
#include "core/policies/torch_settings.h"
#include "replay/analysis/advise/peak.h"
#include "replay/analysis/trace/sites.h"

namespace tidemark {
namespace {

// The first few failed requests of a run, in full.
class Refusals final : public Observer {
  public:
    explicit Refusals(std::size_t most) : most_(most) {}

    void on_refusal(const Refusal& refusal) override {
        ++count_;
        if (list_.size() < most_)
            list_.push_back(refusal);
    }

    std::uint64_t count() const { return count_; }

    const std::vector<Refusal>& list() const { return list_; }

  private:
    std::size_t most_;
    std::uint64_t count_ = 0;
    std::vector<Refusal> list_;
};

Result<Refusals> refusals_of(const Trace& trace, const OutOfMemoryQuestion& question) {
    TM_ASSIGN(Machine machine, trial_machine(trace, question.base));
    Refusals refusals(question.most);
    Observer* const observers[] = {&refusals};
    TM_TRY(machine.replay(trace.info(), *trace.cursor(), observers, {}));
    return refusals;
}

class Remedies {
  public:
    Remedies(const Trace& trace, const OutOfMemoryQuestion& question, OutOfMemoryCase& found)
        : trace_(trace), question_(question), found_(found) {}

    Result<void> try_all() {
        TM_TRY(try_setting());
        TM_TRY(try_empty_cache());
        TM_TRY(try_moving());
        return try_more_memory();
    }

  private:
    Result<void> attempt(Remedy remedy, const TrialSetup& setup) {
        TM_ASSIGN(const TrialResult result, run_trial(trace_, setup));
        const auto& refused = result.refused_events;
        remedy.helps = std::ranges::find(refused, found_.refusal.event) == refused.end();
        remedy.certain = !remedy.helps || !trace_.info().begins_inside;
        remedy.peak_reserved = result.peak.reserved;
        remedy.out_of_memory = result.refusals();
        found_.remedies.push_back(std::move(remedy));
        return {};
    }

    Result<void> try_setting() {
        if (question_.best_setting.empty())
            return {};
        TrialSetup setup = rival();
        TM_ASSIGN(setup.policy, parse_policy(question_.best_setting));
        return attempt({.kind = RemedyKind::setting, .what = question_.best_setting}, setup);
    }

    Result<void> try_empty_cache() {
        if (question_.empties_cache.empty())
            return {};
        TrialSetup setup = rival();
        // Within a private pool's scope only that pool's memory would be released, and it has used
        // that up.
        if (found_.refusal.what.aux == to_integer(PoolId::default_pool))
            setup.trim_before = found_.refusal.event;
        return attempt({.kind = RemedyKind::empty_cache, .what = question_.empties_cache}, setup);
    }

    // They still take their bytes of the limit, or of the card.
    Result<void> try_moving() {
        if (found_.pins.empty())
            return {};
        const PinningSite& pin = found_.pins.front();
        TrialSetup setup = rival();
        setup.elsewhere = pin.events;
        std::ranges::sort(setup.elsewhere);
        const Bytes limit = limit_of(trace_, rival(), found_.refusal.what.device);
        if (limit > pin.block_bytes)
            setup.limit = limit - pin.block_bytes;
        else if (setup.memory > 0)
            setup.overhead += pin.block_bytes;
        return attempt(
            {.kind = RemedyKind::move_blocks, .what = pin.site, .bytes = pin.block_bytes}, setup);
    }

    Result<void> try_more_memory() {
        if (question_.enough_memory == 0)
            return {};
        TrialSetup setup = rival();
        if (question_.card)
            setup.memory = question_.enough_memory;
        else
            setup.limit = question_.enough_memory;
        return attempt({.kind = RemedyKind::more_memory, .bytes = question_.enough_memory}, setup);
    }

    const TrialSetup& rival() const { return question_.rival ? *question_.rival : question_.base; }

    const Trace& trace_;
    const OutOfMemoryQuestion& question_;
    OutOfMemoryCase& found_;
};

// What was requested and where, and what was free then; no remedies.
Result<std::vector<OutOfMemoryCase>> look_at(const Trace& trace, std::span<const Refusal> refusals,
                                             const OutOfMemoryQuestion& question) {
    std::vector<OutOfMemoryCase> cases;
    std::vector<std::uint64_t> events;
    for (const Refusal& refusal : refusals)
        events.push_back(refusal.event);
    if (events.empty())
        return cases;
    TM_ASSIGN(EventPositions positions, find_event_positions(trace, events));
    Sites sites(trace.info());
    for (std::size_t i = 0; i < events.size(); ++i) {
        OutOfMemoryCase& found = cases.emplace_back();
        found.refusal = refusals[i];
        found.position = std::move(positions.positions[i]);
        TM_ASSIGN(const PeakSnapshot snapshot, find_refusal(trace, question.base, events[i]));
        const bool torch = question.base.policy.policy->name == "torch";
        found.gaps = gaps(snapshot, torch);
        found.without_retry = torch && found.refusal.what.aux != to_integer(PoolId::default_pool);
        found.pins = pins(snapshot, sites, question.top);
    }
    return cases;
}

}  // namespace

std::string_view to_text(RemedyKind kind) {
    constexpr std::array<std::string_view, 4> kNames{"setting", "empty_cache", "move_blocks",
                                                     "more_memory"};
    const auto index = static_cast<std::size_t>(kind);
    TM_CHECK(index < kNames.size());
    return kNames[index];
}

Result<OutOfMemoryReport> explain_first(const Trace& trace, const Run& run) {
    OutOfMemoryReport report;
    if (run.refusals.empty() || run.scenario.scale != 1)
        return report;
    OutOfMemoryQuestion question;
    TM_ASSIGN(question.base.policy, parse_policy(run.scenario.policy));
    TM_ASSIGN(const CostProfile profile, load_profile(run.scenario.profile));
    question.base.profile = &profile;
    if (!run.as_recorded) {
        question.base.memory = run.scenario.memory;
        question.base.overhead = run.scenario.held();
        question.base.limit = run.scenario.limit;
    }
    report.count = run.summary.refused + run.summary.refused_again;
    TM_ASSIGN(report.cases, look_at(trace, std::span(run.refusals).first(1), question));
    return report;
}

Result<OutOfMemoryReport> explain_out_of_memory(const Trace& trace,
                                                const OutOfMemoryQuestion& question) {
    TM_ASSIGN(const Refusals refusals, refusals_of(trace, question));
    OutOfMemoryReport report;
    report.count = refusals.count();
    TM_ASSIGN(report.cases, look_at(trace, refusals.list(), question));
    for (OutOfMemoryCase& found : report.cases)
        TM_TRY(Remedies(trace, question, found).try_all());
    return report;
}

}  // namespace tidemark
