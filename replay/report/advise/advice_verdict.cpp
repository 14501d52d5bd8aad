// Each case of an answer, the most urgent first.
#include "replay/report/advise/advice_verdict.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/advise/drop_in.h"
#include "replay/report/forms/step_growth_text.h"

namespace tidemark {
namespace {

// No setting cures what grows with every step.
std::string leak_text(const Advice& advice) {
    const auto leak =
        std::ranges::find(advice.growth.growths, StepGrowthKind::leak, &StepGrowth::kind);
    if (leak == advice.growth.growths.end())
        return {};
    return fmt::format("Find the leak first: {}. ",
                       step_growth_text(*leak, advice.has_stacks,
                                        advice.growth.parts ? kRunPart : std::string_view("step")));
}

std::string out_of_memory_change(std::uint64_t before, std::uint64_t then) {
    if (before == then)
        return {};
    return fmt::format(
        "{} instead of {}, ",
        then == 0 ? "no out-of-memory errors" : format_counted(then, "out-of-memory error"),
        format_count(before));
}

std::string time_change(Nanoseconds before, Nanoseconds then) {
    if (before == then)
        return "no more time in the driver";
    return fmt::format("{} {} in the driver",
                       format_duration(then > before ? then - before : before - then),
                       then > before ? "more" : "less");
}

std::string what_to_do(const Tried& best) {
    if (best.prime != 0)
        return fmt::format("Allocate {} at the start and free it immediately",
                           format_bytes(best.prime));
    if (best.one_graph_pool)
        return best.largest_graph_first ? "Capture all graphs into one pool, the largest first"
                                        : "Capture all graphs into one pool";
    if (best.largest_graph_first)
        return "Capture the largest graph first";
    if (best.name.empty())
        return "Unset the current settings";
    return (best.policy.policy->name == "torch" ? "Set " : "Use ") + best.name;
}

std::string setting_text(const Advice& advice) {
    const Tried& before = advice.search.before;
    const Tried& best = advice.search.best;
    return fmt::format("{}: {}peak {} instead of {}, {}.", what_to_do(best),
                       out_of_memory_change(before.result.refusals(), best.result.refusals()),
                       format_bytes(best.result.peak.reserved),
                       format_bytes(before.result.peak.reserved),
                       time_change(before.device_time(), best.device_time()));
}

// Our own allocator, if it needs less than the best setting.
std::string drop_in_text(const Advice& advice) {
    const SearchResult& search = advice.search;
    const auto drop_in = std::ranges::find_if(search.others, is_drop_in);
    if (drop_in == search.others.end() ||
        drop_in->result.peak.reserved >= search.best.result.peak.reserved)
        return {};
    return fmt::format(" tidemark.torch.use(\"{}\") needs {}, {} than now.", drop_in->name,
                       format_bytes(drop_in->result.peak.reserved),
                       time_change(search.before.device_time(), drop_in->device_time()));
}

// What a short peak leaves reserved for the rest of the run.
std::string idle_text(const Advice& advice) {
    if (!advice.worth_emptying())
        return {};
    const Bytes most = advice.idle->given_back();
    const auto by = std::ranges::find_if(advice.holders, [most](const Holder& holder) {
        return !holder.name.empty() && holder.kind != HolderKind::size &&
               holder.at_reserved_peak >= most / 2;
    });
    return fmt::format(
        " {} of reserved memory is idle from event {} to {}{}: {} there releases it.",
        format_bytes(advice.idle->given_back()), format_count(advice.idle->from),
        format_count(advice.idle->to),
        by == advice.holders.end()
            ? std::string()
            : fmt::format(", after {} held {}", by->name, format_bytes(by->at_reserved_peak)),
        advice.empties_cache);
}

}  // namespace

std::string advice_verdict(const TraceInfo& info, const Advice& advice) {
    if (info.is_state())
        return {};
    const SearchResult& search = advice.search;
    const std::string tried = format_counted(search.trials, "setting");
    if (advice.no_fit)
        return fmt::format(
            "No setting helps: the program must hold {} less at once ({} needed, {} available; "
            "none of the {} replayed survives).",
            format_bytes(advice.no_fit->excess),
            format_bytes(std::max(advice.no_fit->needed, advice.peak_requested)),
            format_bytes(advice.no_fit->available), tried);
    if (search.improves)
        return leak_text(advice) + setting_text(advice) + drop_in_text(advice);
    if (!advice.can_be_set)
        return leak_text(advice) +
               fmt::format(
                   "{} has no settings to try: `tidemark compare` shows what other "
                   "allocators would do.",
                   advice.family.empty() ? "This allocator" : advice.family);
    return leak_text(advice) +
           fmt::format(
               "Nothing helps: none of the {} replayed is worth a change (1 % less at the peak, "
               "at a similar cost).",
               tried) +
           drop_in_text(advice) + idle_text(advice);
}

}  // namespace tidemark
