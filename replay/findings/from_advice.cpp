// What advise found, as findings.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/findings/find.h"

namespace tidemark::findings {
namespace {

constexpr std::size_t kShownHolders = 3;
constexpr std::size_t kShownPins = 3;
constexpr Bytes kFromAdviceWorthTelling = 50;  // of reserved memory, one part in so many

class AdviceRules {
  public:
    AdviceRules(const TraceInfo& info, const Advice& advice) : info_(info), advice_(advice) {}

    std::vector<Finding> all() {
        add_refusals();
        add_lack();
        add_steps();
        add_setting();
        add_free();
        add_growth();
        add_streams();
        add_pins();
        add_idle();
        add_use();
        add_pools();
        add_holders();
        for (const std::string& warning : advice_.warnings)
            add(Kind::remark, Severity::warning, {}).message = warning;
        for (const std::string& note : advice_.notes)
            add(Kind::remark, Severity::note, {}).message = note;
        put_in_order(found_);
        return std::move(found_);
    }

  private:
    Finding& add(Kind kind, Severity severity, std::vector<Figure> figures) {
        Finding finding;
        finding.kind = kind;
        finding.severity = severity;
        finding.figures = std::move(figures);
        found_.push_back(std::move(finding));
        return found_.back();
    }

    void put_at(Finding& finding, const Moment& moment) const {
        finding.event = moment.event;
        if (info_.duration > 0)
            finding.time = moment.time;
        finding.range = range_text(info_, advice_.snapshot, moment);
    }

    void add_refusals() {
        const TrialResult& result = advice_.happened();
        if (result.refusals() == 0)
            return;
        if (!advice_.out_of_memory.cases.empty())
            return add_cases();
        if (!result.first_refusal) {
            add(Kind::out_of_memory, Severity::problem, {{"count", result.refusals()}});
            return;
        }
        const Refusal& first = *result.first_refusal;
        Finding& finding = add(Kind::out_of_memory, Severity::problem,
                               {{"number", 1},
                                {"count", result.refusals()},
                                {"requested_bytes", first.what.size},
                                {"reserved_bytes", first.usage.reserved},
                                {"free_bytes", first.usage.reserved - std::min(first.usage.reserved,
                                                                               first.usage.active)},
                                {"largest_free_bytes", first.largest_free}});
        finding.event = first.event;
        if (info_.duration > 0)
            finding.time = first.what.time;
    }

    // One by one, with the blocks that are in the way and the remedies that a replay has shown to
    // help.
    void add_cases() {
        const OutOfMemoryReport& report = advice_.out_of_memory;
        for (std::size_t i = 0; i < report.cases.size(); ++i) {
            const OutOfMemoryCase& found = report.cases[i];
            Finding& finding = add(Kind::out_of_memory, Severity::problem,
                                   {{"number", i + 1},
                                    {"count", report.count},
                                    {"requested_bytes", found.refusal.what.size},
                                    {"reserved_bytes", found.refusal.usage.reserved},
                                    {"free_bytes", found.gaps.free},
                                    {"gaps", found.gaps.count},
                                    {"largest_free_bytes", found.gaps.largest},
                                    {"without_retry", found.without_retry ? 1U : 0U}});
            finding.event = found.refusal.event;
            if (info_.duration > 0)
                finding.time = found.refusal.what.time;
            for (const PinningSite& pin : found.pins)
                if (pin.free > 0)
                    finding.parts.push_back({"blocker", pin.site, pin.free, pin.blocks});
            for (const Remedy& remedy : found.remedies)
                finding.parts.push_back({"remedy", std::string(to_text(remedy.kind)), remedy.bytes,
                                         remedy.out_of_memory, remedy.what, remedy.helps,
                                         remedy.certain});
        }
        if (report.count > report.cases.size())
            add(Kind::out_of_memory, Severity::problem,
                {{"further", report.count - report.cases.size()}})
                .event = report.cases.back().refusal.event;
    }

    void add_setting() {
        const SearchResult& search = advice_.search;
        if (!search.improves)
            return;
        const TrialResult& before = search.before.result;
        const TrialResult& best = search.best.result;
        const bool survives = before.refusals() > best.refusals();
        Finding& finding =
            add(Kind::setting, survives ? Severity::problem : Severity::warning,
                {{"reserved_bytes", before.peak.reserved},
                 {"new_reserved_bytes", best.peak.reserved},
                 {"out_of_memory", before.refusals()},
                 {"new_out_of_memory", best.refusals()},
                 {"retries", before.stats.retries},
                 {"new_retries", best.stats.retries},
                 {"device_ns", static_cast<std::uint64_t>(search.before.device_time())},
                 {"new_device_ns", static_cast<std::uint64_t>(search.best.device_time())},
                 {"trials", search.trials}});
        finding.setting = search.best.name;
        finding.command = search.best.line;
        put_at(finding, advice_.snapshot.reserved);
    }

    void add_lack() {
        if (!advice_.no_fit)
            return;
        const NoFit& lack = *advice_.no_fit;
        Finding& finding = add(Kind::does_not_fit, Severity::problem,
                               {{"memory_bytes", lack.available},
                                {"requested_bytes", advice_.peak_requested},
                                {"needed_bytes", lack.needed},
                                {"excess_bytes", lack.excess},
                                {"trials", advice_.search.trials}});
        finding.event = lack.event;
        for (const Holder& holder : lack.holders)
            if (holder.kind == HolderKind::site || holder.kind == HolderKind::size)
                finding.parts.push_back(
                    {to_text(holder.kind), holder.name, holder.at_allocated_peak, holder.blocks});
    }

    // What a peak leaves reserved, and what emptying the cache after it releases.
    void add_idle() {
        if (!advice_.idle)
            return;
        const IdleStretch& idle = *advice_.idle;
        Finding& finding =
            add(Kind::idle, advice_.worth_emptying() ? Severity::warning : Severity::note,
                {{"free_bytes", idle.given_back()},
                 {"parts", idle.to - idle.from},
                 {"parts_in_all", info_.event_count},
                 {"active_bytes", idle.active},
                 {"reserved_bytes", idle.reserved},
                 {"new_reserved_bytes", idle.emptied},
                 {"to_event", idle.to},
                 {"longer_ns", static_cast<std::uint64_t>(idle.longer)}});
        finding.setting = advice_.empties_cache;
        finding.event = idle.from;
        if (info_.duration > 0)
            finding.time = idle.time;
    }

    void add_steps() {
        for (const StepGrowth& growth : advice_.growth.growths) {
            const bool is_cache = growth.kind == StepGrowthKind::cache;
            Finding& finding = add(growth.kind == StepGrowthKind::leak ? Kind::leak
                                   : is_cache                          ? Kind::cache_growth
                                                                       : Kind::drift,
                                   is_cache ? Severity::note : Severity::problem,
                                   {{"steps", advice_.growth.steps.ends.size()},
                                    {"first_bytes", growth.first_bytes},
                                    {"last_bytes", growth.last_bytes},
                                    {"first_event", growth.first_event},
                                    {"blocks", growth.blocks}});
            finding.site = growth.site;
            finding.stack = growth.stack;
            finding.message = advice_.growth.steps.name;
            if (advice_.growth.parts)
                finding.figures.push_back({"parts", kRunParts});
            finding.event = growth.last_event;
            if (!is_cache)
                add_slope(growth, finding);
        }
    }

    // How fast it grows, and when that ends.
    void add_slope(const StepGrowth& growth, Finding& finding) const {
        const auto slope = static_cast<std::uint64_t>(std::max(growth.bytes_per_step, 1.0));
        finding.figures.push_back({"bytes_per_step", slope});
        const Bytes memory =
            advice_.limit > 0 && (advice_.memory == 0 || advice_.limit < advice_.memory)
                ? advice_.limit
                : advice_.memory;
        const Bytes reserved = advice_.snapshot.reserved.usage.reserved;
        if (memory <= reserved || info_.devices.size() > 1)
            return;
        const std::uint64_t left = (memory - reserved) / slope;
        if (left == 0)
            return;
        finding.figures.push_back({"memory_bytes", memory});
        finding.figures.push_back({"steps_left", left});
        const auto step =
            static_cast<std::uint64_t>(std::max<Nanoseconds>(advice_.growth.step_time, 0));
        if (step > 0 && left < ~std::uint64_t{0} / 2 / step)
            finding.figures.push_back({"time_left_ns", left * step});
    }

    static std::string whose(const StreamShare& share) {
        if (share.site.empty())
            return "in whole segments";
        return "next to blocks of " + share.site;
    }

    std::vector<Part> by_stream(const std::vector<StreamShare>& shares, bool waiting) const {
        std::vector<Part> parts;
        for (const StreamShare& share : shares) {
            const bool is_pool = share.pool != PoolId::default_pool;
            parts.push_back(
                {is_pool ? "pool" : "stream",
                 is_pool ? pool_text(info_, share.pool) : stream_text(info_, share.stream),
                 share.bytes, share.blocks,
                 waiting ? share.site + (share.record_stream ? ", record_stream" : "")
                         : whose(share)});
        }
        return parts;
    }

    // Free when it had to grow, but not for this request's stream or pool.
    void add_streams() {
        const Gaps& gaps = advice_.gaps;
        const Bytes other = gaps.other_streams + gaps.other_pools;
        if (other == 0 || other < advice_.parts.reserved / kFromAdviceWorthTelling)
            return;
        Finding& finding =
            add(Kind::other_streams,
                std::min(severity_of_waste(other, advice_.parts.reserved), Severity::warning),
                {{"other_streams_bytes", gaps.other_streams},
                 {"other_pools_bytes", gaps.other_pools},
                 {"requested_bytes", gaps.requested},
                 {"reserved_bytes", advice_.parts.reserved}});
        put_at(finding, advice_.snapshot.growth);
        finding.parts = by_stream(advice_.other_streams, false);
        for (Part& part : by_stream(advice_.other_pools, false))
            finding.parts.push_back(std::move(part));
    }

    void add_pools() {
        if (advice_.pools.empty())
            return;
        Finding& finding = add(Kind::pools, Severity::note, {});
        put_at(finding, advice_.snapshot.fullest);
        Bytes held = 0;
        for (const PoolShare& pool : advice_.pools) {
            held += pool.pool == PoolId::default_pool ? 0 : pool.reserved;
            finding.parts.push_back({"pool", pool_text(info_, pool.pool), pool.reserved,
                                     pool.blocks, format_bytes(pool.in_use) + " in use"});
        }
        finding.figures = {{"private_bytes", held}, {"reserved_bytes", advice_.parts.reserved}};
    }

    // What is free where most of the peak is in use.
    void add_free() {
        const facts::MemoryParts& parts = advice_.parts;
        const auto add_waste = [&](Kind kind, Severity severity, std::string_view name,
                                   Bytes bytes) {
            if (bytes > 0 && bytes >= parts.reserved / kFromAdviceWorthTelling)
                put_at(add(kind, severity, {{name, bytes}, {"reserved_bytes", parts.reserved}}),
                       advice_.snapshot.fullest);
        };
        add_waste(Kind::fragmentation, severity_of_waste(parts.fragmentation, parts.reserved),
                  "fragmentation_bytes", parts.fragmentation);
        add_waste(Kind::cached,
                  std::min(severity_of_waste(parts.cached, parts.reserved), Severity::warning),
                  "cached_bytes", parts.cached);
        add_waste(Kind::waiting,
                  std::min(severity_of_waste(parts.waiting, parts.reserved), Severity::warning),
                  "pending_free_bytes", parts.waiting);
        if (!found_.empty() && found_.back().kind == Kind::waiting) {
            found_.back().figures.push_back({"waiting_bytes", parts.waiting});  // its former name
            found_.back().parts = by_stream(advice_.waiting, true);
        }
        add_waste(Kind::rounding,
                  std::min(severity_of_waste(parts.rounding, parts.reserved), Severity::warning),
                  "rounding_bytes", parts.rounding);
    }

    void add_growth() {
        const Gaps& gaps = advice_.gaps;
        if (gaps.requested == 0 || gaps.free == 0 || gaps.free < gaps.requested ||
            gaps.free < advice_.parts.reserved / kFromAdviceWorthTelling)
            return;
        put_at(add(Kind::growth_while_free, Severity::warning,
                   {{"requested_bytes", gaps.requested},
                    {"free_bytes", gaps.free},
                    {"usable_bytes", gaps.reachable},
                    {"gaps", gaps.count},
                    {"largest_free_bytes", gaps.largest},
                    {"other_streams_bytes", gaps.other_streams},
                    {"other_pools_bytes", gaps.other_pools},
                    {"other_sizes_bytes", gaps.other_sizes}}),
               advice_.snapshot.growth);
    }

    void add_pins() {
        for (std::size_t i = 0; i < std::min(kShownPins, advice_.pins.size()); ++i) {
            const PinningSite& pin = advice_.pins[i];
            if (pin.free < advice_.parts.reserved / kFromAdviceWorthTelling)
                continue;
            Finding& finding = add(
                Kind::pinned,
                std::min(severity_of_waste(pin.free, advice_.parts.reserved), Severity::warning),
                {{"free_bytes", pin.free},
                 {advice_.paged ? "pages" : "segments", pin.segments},
                 {"blocks", pin.blocks},
                 {"block_bytes", pin.block_bytes},
                 {"born_event", pin.born}});
            if (pin.ends != kNotInTrace) {
                finding.figures.push_back({"ends_event", pin.ends});
                if (info_.duration > 0)
                    finding.figures.push_back(
                        {"lifetime_ns", static_cast<std::uint64_t>(pin.end_time - pin.born_time)});
            }
            finding.site = pin.site;
            finding.stack = pin.stack;
            finding.event = pin.born;
            if (info_.duration > 0)
                finding.time = pin.born_time;
        }
    }

    void add_use() {
        const facts::MemoryParts& parts = advice_.parts;
        if (parts.reserved == 0)
            return;
        put_at(add(Kind::in_use, Severity::note,
                   {{"reserved_bytes", parts.reserved},
                    {"in_use_bytes", parts.in_use},
                    {"rounding_bytes", parts.rounding},
                    {"pending_free_bytes", parts.waiting},
                    {"waiting_bytes", parts.waiting},  // its former name
                    {"fragmentation_bytes", parts.fragmentation},
                    {"cached_bytes", parts.cached}}),
               advice_.snapshot.fullest);
    }

    void add_holders() {
        Finding finding;
        finding.kind = Kind::holders;
        for (const Holder& holder : advice_.holders)
            if ((holder.kind == HolderKind::site || holder.kind == HolderKind::size) &&
                finding.parts.size() < kShownHolders)
                finding.parts.push_back(
                    {to_text(holder.kind), holder.name, holder.at_allocated_peak, holder.blocks});
        if (finding.parts.empty())
            return;
        put_at(finding, advice_.snapshot.allocated);
        found_.push_back(std::move(finding));
    }

    const TraceInfo& info_;
    const Advice& advice_;
    std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> from_advice(const TraceInfo& info, const Advice& advice) {
    return AdviceRules(info, advice).all();
}

std::string range_text(const TraceInfo& info, const PeakSnapshot& snapshot, const Moment& moment) {
    const auto visit = [&](const RangeVisit& range) {
        return fmt::format("{} ({} of {})", info.strings[range.name], format_count(range.visit),
                           format_count(snapshot.range_visits[range.name]));
    };
    std::string text;
    for (const RangeVisit& range : moment.inside)
        text += fmt::format("{}{}", text.empty() ? "in " : " > ", visit(range));
    if (text.empty() && moment.after.name != 0)
        text = "after " + visit(moment.after);
    if (moment.mark != 0 && moment.mark < info.strings.size())
        text += fmt::format("{}after mark {}", text.empty() ? "" : ", ", info.strings[moment.mark]);
    return text;
}

}  // namespace tidemark::findings
