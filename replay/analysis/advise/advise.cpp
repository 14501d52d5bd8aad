// Putting the parts together.
#include "replay/analysis/advise/advise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/policies/torch_settings.h"
#include "replay/analysis/advise/advice_spread.h"
#include "replay/analysis/advise/drop_in.h"
#include "replay/analysis/advise/graph_order.h"
#include "replay/analysis/advise/offer_search.h"
#include "replay/analysis/advise/priming.h"
#include "replay/analysis/advise/setting_hazards.h"
#include "replay/analysis/advise/setting_names.h"
#include "replay/analysis/fit/fit_search.h"
#include "replay/analysis/trace/sites.h"
#include "replay/analysis/trace/trace_summary.h"
#include "replay/record/allocator_family.h"
#include "replay/record/explained_record.h"
#include "replay/record/recorded_policy.h"
#include "replay/scenario/card_overhead.h"
#include "traces/model/device_trace.h"

namespace tidemark {
namespace {

// Longer traces are not searched for the memory that would have been enough: about 40 replays.
constexpr std::uint64_t kEventsToSearchMemory = 2'000'000;
constexpr std::uint64_t kAdviseEventsAffordable = 150'000'000;  // about 5 s on two cores
// A setting serves other runs too, and changes no program: other remedies must need this much less.
constexpr double kWorthChange = 0.9;
constexpr double kNoticeable = 0.01;  // a difference that calls for a warning
constexpr std::size_t kSmallestBudget = 40;
constexpr std::size_t kLargestBudget = 400;

// Requested sizes, ascending: in whole MiB, below 21 MiB in powers of two. And refusals.
struct Requests {
    std::vector<Bytes> sizes;
    std::uint64_t refused = 0;
};

Result<Requests> requests_of(const Trace& trace) {
    std::set<Bytes> sizes;
    Bytes last = 0;
    Requests requests;
    const std::unique_ptr<TraceCursor> cursor = trace.cursor();
    for (;;) {
        TM_ASSIGN(const EventBatch batch, cursor->next());
        if (batch.count == 0)
            break;
        for (std::size_t i = 0; i < batch.count; ++i) {
            if (batch.kind[i] == EventKind::out_of_memory)
                ++requests.refused;
            if (batch.kind[i] != EventKind::allocate || batch.size[i] >= kLargestRequest)
                continue;
            const Bytes size = batch.size[i];
            const Bytes coarse = size < 21_MiB ? std::bit_floor(size) : size >> 20U << 20U;
            if (coarse != last)
                sizes.insert(coarse);
            last = coarse;
        }
    }
    requests.sizes.assign(sizes.begin(), sizes.end());
    return requests;
}

Bytes recorded_memory(const TraceInfo& info) {
    Bytes memory = 0;
    for (const TraceDevice& device : info.devices)
        memory = std::max(memory, device.total_memory);
    return memory;
}

// Of the simulated devices. By default the profile's, as for a replay; but if the program needs
// about that much, it ran on something larger.
Bytes simulated_memory(Bytes known, const CostProfile& profile, const TraceSummary& summary) {
    if (known > 0)
        return known;
    Bytes most = 0;  // of one device
    for (const DeviceSummary& device : summary.devices)
        most = std::max(most, device.requested.value);
    return 2 * most <= profile.memory ? profile.memory : 0;
}

// The settings to compare with.
Result<PolicySpec> base_policy(const TraceInfo& info, const AdviseOptions& options,
                               Advice& advice) {
    std::string text = options.policy;
    if (text.empty()) {
        Result<RecordedPolicy> recorded = recorded_policy(info);
        if (recorded) {
            text = recorded->text;
            advice.warnings = std::move(recorded->warnings);
            if (!recorded->assumed.empty())
                advice.notes.push_back(recorded->assumed + "; --policy names another");
        } else if (const AllocatorFamily* const family = allocator_family(info)) {
            text = family->policy;
            advice.notes.push_back(recorded.error().what + "; --policy names one");
        } else {
            text = "torch";
            advice.notes.push_back(recorded.error().what +
                                   ": this is what PyTorch's allocator would do with it; --policy "
                                   "names another");
        }
    }
    TM_ASSIGN(PolicySpec spec, parse_policy(text));
    advice.policy = spec.text();
    return spec;
}

bool is_torch(const PolicySpec& policy) {
    return policy.policy->name == "torch";
}

void note_gaps_in_trace(const TraceInfo& info, Advice& advice) {
    if (info.is_state())
        return;
    if (info.cut_off)
        advice.warnings.emplace_back(
            "the file ends early: the peak may be in the missing part; everything here is about "
            "the part that was read");
    if (info.begins_inside)
        advice.warnings.emplace_back(
            "the recording starts in the middle of the run: blocks that were already live are "
            "placed again, the caches of that time are not known, and an earlier peak is not in "
            "the recording; record from the start (a larger max_entries) before you rely on small "
            "differences");
    if (advice.has_stacks)
        return;
    const AllocatorFamily* const family = allocator_family(info);
    const bool can = family != nullptr && !family->stacks.empty();
    advice.notes.push_back(
        fmt::format("this trace has no call stacks, so sizes replace call sites{}{}",
                    can ? "; record them with " : "", can ? family->stacks : std::string_view()));
}

void note_delays(const TraceSummary& summary, Advice& advice) {
    const bool waits = std::ranges::any_of(
        summary.kinds, [](const auto& k) { return k.kind == EventKind::retire && k.count > 0; });
    if (waits)
        advice.notes.emplace_back(
            "frees waited for other streams: in single figures each completes as many events after "
            "it was requested as in the recording, under every setting; ranges come from runs in "
            "which that differs");
}

void note_differences(const TraceInfo& info, Advice& advice) {
    const Bytes replayed = advice.search.before.result.peak.reserved;
    if (advice.recorded_peak != 0 && advice.recorded_peak != replayed && info.begins_inside) {
        advice.notes.push_back(
            fmt::format("the recorded run peaked at {} reserved, including what was cached before "
                        "the recording started; replays start with only the live blocks, so "
                        "compare only figures of replays",
                        format_bytes(advice.recorded_peak)));
    } else if (advice.recorded_peak != 0 && advice.recorded_peak != replayed) {
        const double off =
            static_cast<double>(replayed) / static_cast<double>(advice.recorded_peak) - 1;
        (std::abs(off) < kNoticeable ? advice.notes : advice.warnings)
            .push_back(fmt::format("the recorded run peaked at {}, its replay at {} ({:+.2f} %): "
                                   "expect predictions to be about as accurate",
                                   format_bytes(advice.recorded_peak), format_bytes(replayed),
                                   100.0 * off));
    }
    if (advice.recorded_refusals > 0 && advice.limit == 0 && advice.memory == 0)
        advice.warnings.push_back(
            fmt::format("the recorded run ran out of memory ({}), but the file doesn't say at what "
                        "limit: give --limit or --memory to ask which settings survive",
                        format_times(advice.recorded_refusals)));
}

// Policies of the catalogue other than torch, under the same conditions.
Result<void> try_others(const Trace& trace, const TrialSetup& base, unsigned threads,
                        Advice& advice) {
    std::vector<TrialSetup> setups;
    for (const PolicyInfo& policy : all_policies()) {
        if (policy.name == base.policy.policy->name || !policy.tried_unasked)
            continue;
        TM_ASSIGN(PolicySpec spec, parse_policy(policy.name));
        setups.push_back(base);
        setups.back().policy = std::move(spec);
        advice.others.push_back({std::string(policy.name), {}});
    }
    TM_ASSIGN(std::vector<TrialResult> results,
              run_trials(trace, setups, {.threads = threads, .progress = {}}));
    for (std::size_t i = 0; i < results.size(); ++i)
        advice.others[i].result = std::move(results[i]);
    const auto peak = [](const OtherPolicy& other) { return other.result.peak.reserved; };
    std::ranges::stable_sort(advice.others, {}, peak);
    return {};
}

void look_at_peak(const TraceInfo& info, std::size_t top, bool by_size, Advice& advice) {
    Sites sites(info);
    advice.parts = memory_parts(advice.snapshot);
    advice.gaps = gaps(advice.snapshot, by_size);
    advice.pins = pins(advice.snapshot, sites, top);
    advice.holders = holders(advice.snapshot, info, sites, top);
    advice.waiting = waiting_blocks(advice.snapshot, info, sites, top);
    advice.other_streams = kept_free(advice.snapshot, false, sites, top);
    advice.other_pools = kept_free(advice.snapshot, true, sites, top);
    advice.pools = pool_shares(advice.snapshot);
}

}  // namespace

std::size_t default_budget(std::uint64_t events) {
    const std::uint64_t count = kAdviseEventsAffordable / std::max<std::uint64_t>(events, 1);
    return static_cast<std::size_t>(
        std::clamp<std::uint64_t>(count, kSmallestBudget, kLargestBudget));
}

namespace {

// What the settings are replayed on.
void find_conditions(const Trace& trace, const AdviseOptions& options, Advice& advice) {
    const ExplainedRecord* const record = explained_record(trace);
    advice.memory = options.memory > 0 ? options.memory : recorded_memory(trace.info());
    advice.overhead =
        options.memory > 0 ? options.overhead.value_or(card_overhead(trace, options.memory)) : 0;
    advice.limit = options.limit.value_or(0);
    if (advice.limit > 0)
        advice.limit_text = fmt::format("limit {}", format_bytes(advice.limit));
    if (options.limit || options.memory > 0 || record == nullptr)
        return;
    const RecordedDevice* const limited = limited_device(trace);
    if (limited == nullptr)
        return;
    advice.limit = limited->limit;
    advice.limit_source = limited->source;
    advice.limit_text = record->limit_text();
}

// Reserved memory as recorded, of one device or summed over all; 0 = not known.
Result<Bytes> recorded_peak(const Trace& trace, const TraceSummary& summary) {
    const ExplainedRecord* const record = explained_record(trace);
    if (record == nullptr)
        return summary.recorded_reserved.value;
    if (record->devices.size() == 1)
        return record->peak.reserved;
    // Its sum is of what may be different moments, and what was inferred was not reserved.
    TM_ASSIGN(const TraceSummary as_read, summarize(*record->record));
    const DeviceTrace* const one = device_trace(trace);
    return one == nullptr ? as_read.recorded_reserved.value
                          : as_read.devices[one->device()].recorded_reserved.value;
}

// Without one: as recorded. A named card has no limit but its size.
std::optional<Bytes> requested_limit(const AdviseOptions& options) {
    if (options.limit || options.memory == 0)
        return options.limit;
    return Bytes{0};
}

// Garbage collection acts only under a limit that the program has set itself. One that is inferred
// may be the device's end instead, unless the program did collect.
Result<bool> collects(const Advice& advice, const PolicySpec& policy, Bytes memory) {
    if (!is_torch(policy))
        return false;
    TM_ASSIGN(const policies::TorchSettings settings,
              policies::TorchSettings::from(policy.options));
    if (advice.limit_source != LimitSource::settings)
        return settings.gc_threshold > 0;
    return advice.limit > 0 || settings.limit_on(memory) > 0;
}

// If no setting survives: what would be live at once with enough memory.
Result<void> look_at_lack(const Trace& trace, const TrialSetup& base, std::size_t top,
                          Advice& advice) {
    // The recorded run survived under the inferred limit; on the full card it requested memory that
    // it didn't get.
    const TrialResult& before = advice.happened();
    const bool is_short =
        advice.limit_source == LimitSource::card ? before.refusals() > 0 : !before.survived();
    if (advice.search.improves || !is_short || advice.limit_source == LimitSource::inferred)
        return {};
    TrialSetup unlimited = base;
    unlimited.memory = unlimited.overhead = 0;
    unlimited.limit = 0;
    std::vector<TrialSetup> setups{unlimited};
    if (is_torch(base.policy)) {
        TM_ASSIGN(TorchChoice expandable, choice_of(base.policy));
        expandable.expandable = true;
        if (Result<PolicySpec> spec = with_choice(base.policy, expandable)) {
            setups.push_back(unlimited);
            setups.back().policy = std::move(*spec);
        }
    }
    TM_ASSIGN(const std::vector<TrialResult> results, run_trials(trace, setups));
    NoFit lack;
    for (const TrialResult& result : results)
        lack.needed =
            lack.needed == 0 ? result.peak.reserved : std::min(lack.needed, result.peak.reserved);
    // In a replay in which it succeeds, a request that ran out of memory when recorded ends at
    // once.
    if (const auto& probe = before.first_probe; probe && probe->what.size < kLargestRequest)
        lack.needed = std::max(lack.needed, probe->usage.active + probe->what.size);
    const Bytes limit = advice.limit;
    const Bytes card = base.memory - base.overhead;
    lack.available = limit == 0 ? card : card == 0 ? limit : std::min(limit, card);
    const Bytes most = std::max(advice.peak_requested, lack.needed);
    const Bytes least = advice.peak_requested > lack.available ? advice.peak_requested : most;
    lack.excess = least - std::min(least, lack.available);
    TM_ASSIGN(const PeakSnapshot snapshot, find_peak(trace, unlimited));
    lack.event = snapshot.allocated.event;
    Sites sites(trace.info());
    lack.holders = holders(snapshot, trace.info(), sites, top);
    advice.no_fit = std::move(lack);
    return {};
}

// Whether it depends on where the driver puts segments that the recorded settings run out of
// memory.
Result<void> try_placements(const Trace& trace, const TrialSetup& rival, unsigned threads,
                            Advice& advice) {
    constexpr unsigned kPlacements = 64;
    constexpr std::uint64_t kEventsAffordable = 20'000'000;  // in total
    if (!advice.recorded || advice.recorded->refusals() <= advice.search.before.result.refusals() ||
        trace.info().event_count * kPlacements > kEventsAffordable)
        return {};
    std::vector<TrialSetup> setups;
    for (unsigned seed = 0; seed < kPlacements; ++seed) {
        setups.push_back(rival);
        setups.back().placement = seed;
    }
    TM_ASSIGN(const std::vector<TrialResult> results,
              run_trials(trace, setups, {.threads = threads, .progress = {}}));
    advice.placements = kPlacements;
    advice.placements_refused = static_cast<unsigned>(std::ranges::count_if(
        results, [](const TrialResult& result) { return result.refusals() > 0; }));
    advice.warnings.push_back(fmt::format(
        "the recorded run ran out of memory {}, a replay of its settings {}: it depends on where "
        "the driver puts segments (out of memory in {} of {} placements)",
        format_times(advice.recorded->refusals()),
        advice.search.before.result.refusals() == 0
            ? std::string("doesn't")
            : format_times(advice.search.before.result.refusals()),
        advice.placements_refused, advice.placements));
    return {};
}

// What ran out of memory under `base`, and what would have helped.
Result<void> find_out_of_memory(const Trace& trace, const TrialSetup& base, const TrialSetup& rival,
                                const CostProfile& profile, Advice& advice) {
    const TrialResult& before = advice.happened();
    if (before.refusals() == 0)
        return {};
    OutOfMemoryQuestion question{.base = base, .rival = rival, .card = advice.limit == 0};
    question.empties_cache = advice.empties_cache;
    if (advice.search.improves && advice.search.best.is_setting())
        question.best_setting = advice.search.best.policy.text();
    if (trace.info().event_count <= kEventsToSearchMemory) {
        FitQuestion sizes{.overhead = advice.overhead, .limit = 0};
        TM_ASSIGN(const FitRow row, FitSearch(trace, sizes, profile, [] {}).run(base.policy));
        question.enough_memory = question.card ? row.smallest_memory : row.smallest_limit;
    }
    TM_ASSIGN(advice.out_of_memory, explain_out_of_memory(trace, question));
    return {};
}

// What PyTorch's user can do besides: allocate the memory once at the start, capture graphs into
// one pool, or use another allocator (one of Advice::others).
Result<void> search_beside(const Trace& trace, const SearchSetup& setup,
                           const AdviseOptions& options, Advice& advice) {
    SearchResult& search = advice.search;
    const auto offer = [&](Tried tried) {
        if (!is_improvement(tried, search.before, setup.timed))
            return;
        const double share = static_cast<double>(tried.result.peak.reserved) /
                             static_cast<double>(search.best.result.peak.reserved);
        const bool replaces = !tried.is_setting() && (!search.improves || share <= kWorthChange);
        if (replaces) {
            if (search.improves)
                search.others.insert(search.others.begin(), search.best);
            search.best = std::move(tried);
            search.improves = true;
        } else if (!tried.is_setting() || !search.improves ||
                   is_improvement(tried, search.best, setup.timed)) {
            search.others.push_back(std::move(tried));
        }
    };
    TM_ASSIGN(const std::unique_ptr<Trace> largest_first, largest_graph_first(trace));
    const bool several_pools = graph_pools(trace.info()).size() > 1;
    const auto capture = [&](bool one_pool, bool sorted) -> Result<void> {
        Tried tried = search.before;
        tried.one_graph_pool = one_pool;
        tried.largest_graph_first = sorted;
        TrialSetup trial = setup.base;
        trial.one_graph_pool = one_pool;
        TM_ASSIGN(tried.result, run_trial(sorted ? *largest_first : trace, trial));
        offer(std::move(tried));
        return {};
    };
    if (several_pools)
        TM_TRY(capture(true, false));
    if (largest_first)
        TM_TRY(capture(several_pools, true));
    if (!advice.from_torch)
        return {};  // it isn't known whose program it is
    const std::uint64_t events = trace.info().event_count;
    if (!trace.info().begins_inside && !search.before.choice.expandable &&
        events * kPrimingTrials <= kAdviseEventsAffordable) {
        TM_ASSIGN(std::optional<Tried> primed, search_priming(trace, setup, search.before));
        if (primed)
            offer(std::move(*primed));
    }
    const auto extent = std::ranges::find(advice.others, "extent", &OtherPolicy::name);
    if (!options.without_vmm && has_drop_in(trace.info(), torch_releases(trace.info())) &&
        extent != advice.others.end()) {
        TM_ASSIGN(Tried drop_in, try_drop_in(trace, setup, extent->result));
        offer(std::move(drop_in));
    }
    return {};
}

// What the system's user can set.
Result<void> search(const Trace& trace, const SearchSetup& setup, const SettingNames& names,
                    Advice& advice) {
    if (!is_torch(setup.base.policy)) {
        std::vector<PolicySpec> offers = names.offers();
        advice.can_be_set = !offers.empty();
        TM_ASSIGN(advice.search, search_offers(trace, setup, offers));
        return {};
    }
    TM_ASSIGN(advice.search, search_settings(trace, setup));
    return {};
}

// What isn't known of the models that are shown.
void note_models(const TraceInfo& info, Advice& advice) {
    std::vector<std::string> shown{advice.search.before.policy.text(),
                                   advice.search.best.policy.text()};
    for (const Tried& other : advice.search.others)
        shown.push_back(other.policy.text());
    for (const OtherPolicy& other : advice.others)
        shown.push_back(other.name);
    for (std::string& limit : model_limits(info, shown))
        advice.notes.push_back(std::move(limit));
}

void name_settings(const SettingNames& names, SearchResult& found) {
    names.name(found.before);
    names.name(found.best);
    for (Tried& other : found.others)
        names.name(other);
    if (found.dear)
        names.name(*found.dear);
}

// What to know of the best setting before it is set.
void note_conditions(const TraceInfo& info, const SettingNames& names, Advice& advice) {
    const SearchResult& found = advice.search;
    const auto add = [&advice](SettingHazards hazards) {
        for (std::string& hazard : hazards.shown)
            advice.warnings.push_back(std::move(hazard));
        if (!hazards.conditions.empty())
            advice.notes.push_back(std::move(hazards.conditions));
    };
    if (is_drop_in(found.best) || std::ranges::any_of(found.others, is_drop_in))
        add(drop_in_hazards(info, torch_releases(info)));
    if (!found.improves)
        return;
    for (std::string& remark : names.remarks(found.best))
        advice.notes.push_back(std::move(remark));
    if (!is_torch(found.best.policy) || !found.best.policy.options.boolean("expandable_segments") ||
        found.before.policy.options.boolean("expandable_segments"))
        return;
    add(expandable_hazards(info, torch_releases(info)));
}

// Only for settings: what a program must do differently is not in its trace.
Result<void> find_largest_steps(const Trace& trace, const AdviseOptions& options, Advice& advice) {
    if (options.settings_only)
        return {};
    LargestStepsQuestion question{.memory = advice.memory,
                                  .overhead = advice.overhead,
                                  .profile = options.profile,
                                  .threads = options.threads,
                                  .stop = options.stop};
    if (advice.search.improves && advice.search.best.is_setting())
        question.policies = {advice.search.best.policy.text()};
    TM_ASSIGN(advice.largest_steps, largest_steps(trace, question));
    return {};
}

Result<Advice> advise_on(const Trace& trace, const AdviseOptions& options) {
    const TraceInfo& info = trace.info();
    Advice advice;
    TM_ASSIGN(const PolicySpec policy, base_policy(info, options, advice));
    TM_ASSIGN(const CostProfile profile, load_profile(options.profile));
    advice.from_torch = info.from_torch();
    if (const AllocatorFamily* const family = allocator_family(info)) {
        advice.family = family->name;
        advice.empties_cache = family->empties_cache;
    } else if (is_torch(policy)) {
        advice.empties_cache = "torch.cuda.empty_cache()";
    }
    advice.has_stacks = has_stacks(info);
    find_conditions(trace, options, advice);
    TM_ASSIGN(const TraceSummary summary, summarize(trace));
    const TrialSetup base{.policy = policy,
                          .profile = &profile,
                          .memory = simulated_memory(advice.memory, profile, summary),
                          .memory_assumed = advice.memory == 0,
                          .overhead = advice.overhead,
                          .limit = requested_limit(options)};
    TM_ASSIGN(advice.recorded_peak, recorded_peak(trace, summary));
    advice.peak_requested = summary.requested.value;
    TM_ASSIGN(Requests requests, requests_of(trace));
    advice.recorded_refusals = requests.refused;
    TM_ASSIGN(ProgramSteps steps, find_steps(trace));
    StepWatcher watcher(info, std::move(steps));
    TM_ASSIGN(advice.snapshot, find_peak(trace, base, &watcher));
    advice.growth = watcher.report(options.top);
    advice.paged = is_torch(policy) && policy.options.boolean("expandable_segments");
    look_at_peak(info, options.top, is_torch(policy), advice);
    const SettingNames names(info, advice.peak_requested);
    if (info.is_state()) {
        TM_ASSIGN(advice.search.before.result, run_trial(trace, base));
        advice.search.before.policy = policy;
        names.name(advice.search.before);
        advice.search.best = advice.search.before;
        note_gaps_in_trace(info, advice);
        return advice;
    }

    TrialSetup rival = base;
    rival.simulated = true;
    if (explained_record(trace) != nullptr) {
        TM_ASSIGN(advice.recorded, run_trial(trace, base));
    }
    const TorchReleases releases = torch_releases(info);
    TM_ASSIGN(const bool may_collect, collects(advice, policy, base.memory));
    SearchSetup setup{
        .base = rival,
        .timed = info.duration > 0,
        .collects = may_collect,
        .expandable = !options.without_vmm && releases.may_be(brought_in("expandable_segments")),
        .large_segments = releases.may_be(brought_in("large_segment_size_mb")),
        .sizes = std::move(requests.sizes),
        .budget = options.budget > 0 ? options.budget : default_budget(info.event_count),
        .threads = options.threads,
        .progress = {},
        .stop = options.stop};
    if (options.progress)
        setup.progress = [&](std::size_t done, std::size_t total) {
            options.progress(done * info.event_count, total * info.event_count);
        };
    TM_TRY(search(trace, setup, names, advice));
    const bool may_be_torch = advice.from_torch || advice.family.empty();
    if (!advice.search.interrupted && !options.settings_only) {
        TM_TRY(try_others(trace, rival, options.threads, advice));
        if (is_torch(policy) && may_be_torch)
            TM_TRY(search_beside(trace, setup, options, advice));
    }
    name_settings(names, advice.search);
    if (!advice.search.interrupted) {
        TM_TRY(look_at_lack(trace, rival, options.top, advice));
        TM_TRY(find_out_of_memory(trace, base, rival, profile, advice));
        TM_TRY(try_placements(trace, rival, options.threads, advice));
        if (!advice.empties_cache.empty() && !options.settings_only) {
            TM_ASSIGN(advice.idle, find_idle_stretch(trace, rival));
        }
        TM_TRY(spread_advice(trace, rival, {.runs = options.spread, .threads = options.threads},
                             advice));
        TM_TRY(find_largest_steps(trace, options, advice));
        TM_ASSIGN(advice.offline, offline_bound(trace, {.search = options.bound,
                                                        .threads = options.threads,
                                                        .stop = options.stop}));
    }
    note_conditions(info, names, advice);
    note_models(info, advice);
    note_gaps_in_trace(info, advice);
    note_delays(summary, advice);
    note_differences(info, advice);
    return advice;
}

}  // namespace

Result<Advice> advise(const Trace& trace, const AdviseOptions& options) {
    if (trace.info().gpus() < 2)
        return advise_on(trace, options);
    TM_ASSIGN(Gpus gpus, find_gpus(trace));
    const DeviceTrace one(trace, gpus.chosen);
    TM_ASSIGN(Advice advice, advise_on(one, options));
    advice.gpu = gpus.chosen;
    advice.gpus = std::move(gpus.rows);
    return advice;
}

}  // namespace tidemark
