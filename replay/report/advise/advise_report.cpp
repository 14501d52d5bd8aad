// The screens. Each function makes one paragraph.
#include "replay/report/advise/advise_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/shares.h"
#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/findings/find.h"
#include "replay/report/advise/advice_verdict.h"
#include "replay/report/bound/offline_text.h"
#include "replay/report/findings/finding_text.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/largest_steps_text.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/text.h"

namespace tidemark {
namespace {

// "-21.7 %", "+0.3 %"; "" if there is nothing to compare with.
std::string change(Bytes now, Bytes before) {
    if (before == 0 || now == before)
        return {};
    return format_change(share_of(now, before) - 1);
}

// "+1.20 GiB", "-3.00 MiB", "=".
std::string difference(Bytes before, Bytes after) {
    if (before == after)
        return "=";
    return after > before ? "+" + format_bytes(after - before) : "-" + format_bytes(before - after);
}

std::string moment_text(const TraceInfo& info, const PeakSnapshot& snapshot, const Moment& moment) {
    std::string text = fmt::format("event {}", format_count(moment.event));
    if (info.duration > 0)
        text += fmt::format(", {}", format_duration(moment.time));
    if (const std::string range = findings::range_text(info, snapshot, moment); !range.empty())
        text += fmt::format(", {}", one_line(range));
    return text;
}

std::string setting_name(const Tried& tried) {
    return tried.name.empty() ? "PyTorch's defaults" : printable(tried.name);
}

// The line that sets it.
std::string line_text(const Tried& tried) {
    if (tried.line.empty())
        return {};
    return fmt::format("  {}{}\n", printable(tried.line),
                       tried.prime != 0 ? "   # at the start of the program; free it immediately"
                       : tried.one_graph_pool && tried.largest_graph_first
                           ? "   # then torch.cuda.graph(..., pool=pool) for each, the largest "
                             "first; replay them in the order of their capture"
                       : tried.one_graph_pool
                           ? "   # then torch.cuda.graph(..., pool=pool) for each; replay them "
                             "in the order of their capture"
                       : tried.largest_graph_first
                           ? "   # by your names; replay them in the order of their capture"
                           : "");
}

// " on GPU 1" if there are several.
std::string on_gpu(const Advice& advice) {
    return advice.gpus.empty() ? std::string() : fmt::format(" on GPU {}", advice.gpu);
}

// Which GPU the report is about, if there are several, and how they compare.
std::string gpus_text(const Advice& advice) {
    const auto is_used = [](const GpuRow& row) { return row.peak_requested > 0; };
    if (std::ranges::count_if(advice.gpus, is_used) < 2)
        return {};
    std::string text =
        fmt::format("\nGPUs: everything below is about GPU {}{}\n", advice.gpu,
                    advice.gpus[advice.gpu].out_of_memory > 0 ? ", which ran out of memory" : "");
    Table table = Table::untitled("lrrr");
    table.row("", "peak requested", "reserved when recorded", "out of memory");
    for (std::size_t i = 0; i < advice.gpus.size(); ++i) {
        const GpuRow& row = advice.gpus[i];
        table.row(fmt::format("GPU {}", i), format_bytes(row.peak_requested),
                  row.peak_reserved > 0 ? format_bytes(row.peak_reserved) : "",
                  format_count(row.out_of_memory));
    }
    return text + table.bare("  ") + "  --gpu N looks at another.\n";
}

// What to do, and the line to paste.
std::string verdict_text(const TraceInfo& info, const Advice& advice) {
    const std::string verdict = advice_verdict(info, advice);
    if (verdict.empty())
        return {};
    return printable(verdict) + "\n" +
           (advice.search.improves ? line_text(advice.search.best) : std::string()) + "\n";
}

std::string head(const std::string& name, const TraceInfo& info, const Advice& advice) {
    std::string text =
        fmt::format("{}: {}, under {}", printable(name), format_counted(info.event_count, "event"),
                    setting_name(advice.search.before));
    if (!advice.limit_text.empty())
        text += ", " + advice.limit_text;
    if (advice.memory > 0)
        text += ", " + card_text(advice.memory, advice.overhead);
    return text + "\n" + gpus_text(advice);
}

// The urgent findings; the others are in the sections below.
std::string exceeds(const TraceInfo& info, const Advice& advice) {
    std::vector<findings::Finding> found =
        findings::find({.info = &info, .advice = &advice, .runs = {}});
    const bool begins_with_them = advice.out_of_memory.count > 0;
    std::erase_if(found, [begins_with_them](const findings::Finding& each) {
        return each.kind == findings::Kind::remark || each.kind == findings::Kind::setting ||
               (begins_with_them && each.kind == findings::Kind::out_of_memory);
    });
    const std::string text = findings_text(found, true);
    return text.empty() ? text : "\nWhat stands out\n" + text;
}

std::string memory_text(const TraceInfo& info, const Advice& advice) {
    const facts::MemoryParts& parts = advice.parts;
    const PeakSnapshot& snapshot = advice.snapshot;
    if (parts.reserved == 0)
        return "\nNothing was allocated.\n";
    std::string text = fmt::format("\nWhere it went: {} reserved at the peak{}\n  first at {}\n",
                                   format_bytes(parts.reserved), on_gpu(advice),
                                   moment_text(info, snapshot, snapshot.reserved));
    if (snapshot.fullest.event != snapshot.reserved.event)
        text += fmt::format("  fullest at {}:\n", moment_text(info, snapshot, snapshot.fullest));
    Table table = Table::untitled("lrrl");
    const auto add = [&](std::string_view label, Bytes bytes, std::string_view meaning) {
        table.row(label, format_bytes(bytes), format_share(bytes, parts.reserved), meaning);
    };
    add("in use", parts.in_use, "requested by the program, and live");
    add("rounding", parts.rounding, "added to requests by the allocator");
    add("pending free", parts.waiting, "freed, but other streams may still use it");
    add("fragmentation", parts.fragmentation, "free, in segments that are partly in use");
    add("cached", parts.cached, "free, in whole segments");
    text += table.bare("  ");
    if (snapshot.allocated.event != snapshot.fullest.event)
        text += fmt::format("  allocated memory peaked at {} ({})\n",
                            format_bytes(snapshot.allocated.usage.allocated),
                            moment_text(info, snapshot, snapshot.allocated));
    return text;
}

std::string_view title_of(HolderKind kind) {
    switch (kind) {
        case HolderKind::site:
            return "by call site";
        case HolderKind::operation:
            return "by operator";
        case HolderKind::annotation:
            return "by annotation";
        case HolderKind::size:
            return "by size";
    }
    return "";
}

std::string name_of(const Holder& holder) {
    if (!holder.name.empty())
        return one_line(holder.name, 60);
    switch (holder.kind) {
        case HolderKind::operation:
            return "(no operator)";
        case HolderKind::annotation:
            return "(no annotation)";
        default:
            return "(no stack recorded)";
    }
}

std::string holders_text(const Advice& advice) {
    if (advice.holders.empty())
        return {};
    Table table = Table::untitled("lrrr");
    const HolderKind* last = nullptr;
    for (const Holder& holder : advice.holders) {
        if (last == nullptr || *last != holder.kind)
            table.row(title_of(holder.kind), last == nullptr ? "at this peak" : "",
                      last == nullptr ? "of allocated" : "", last == nullptr ? "blocks" : "");
        last = &holder.kind;
        table.row("  " + name_of(holder), format_bytes(holder.at_reserved_peak),
                  format_bytes(holder.at_allocated_peak), format_count(holder.blocks));
    }
    return table.section("What holds it");
}

std::string gaps_text(const TraceInfo& info, const Advice& advice) {
    const Gaps& gaps = advice.gaps;
    std::string text = fmt::format(
        "  {} was requested ({}) while {} was free", format_bytes(gaps.requested),
        moment_text(info, advice.snapshot, advice.snapshot.growth), format_bytes(gaps.free));
    if (gaps.count == 0)
        text += ", none of it usable for such a request";
    else
        text += fmt::format(":\n  {} of it usable for such requests, in {}, the largest {}",
                            format_bytes(gaps.reachable), format_counted(gaps.count, "gap"),
                            format_bytes(gaps.largest));
    if (gaps.whole > 0)
        text += fmt::format(" ({} in whole segments)", format_bytes(gaps.whole));
    const auto elsewhere = [&text](Bytes bytes, std::string_view what) {
        if (bytes > 0)
            text += fmt::format("; {} {}", format_bytes(bytes), what);
    };
    elsewhere(gaps.other_streams, "kept for other streams");
    elsewhere(gaps.other_pools, "kept for other pools");
    elsewhere(gaps.other_sizes, "kept for other sizes");
    return text + "\n";
}

// "events 5 to 99,559, 1.20 s", "event 5 to the end".
std::string lifetime(const TraceInfo& info, const PinningSite& pin) {
    if (pin.ends == kNotInTrace)
        return fmt::format("event {} to the end", format_count(pin.born));
    std::string text =
        fmt::format("events {} to {}", format_count(pin.born), format_count(pin.ends));
    if (info.duration > 0)
        text += fmt::format(", {}", format_duration(pin.end_time - pin.born_time));
    return text;
}

std::string fragmentation_text(const TraceInfo& info, const Advice& advice) {
    if (advice.gaps.requested == 0 || advice.gaps.free == 0)
        return {};
    std::string text = "\nWhy it is fragmented\n" + gaps_text(info, advice);
    if (advice.pins.empty())
        return text;
    Table table = Table::untitled("rrll");
    table.row("free, but pinned", advice.paged ? "in pages" : "in segments", "by blocks of",
              "lifetime");
    for (const PinningSite& pin : advice.pins)
        table.row(format_bytes(pin.free), format_count(pin.segments), one_line(pin.site, 50),
                  lifetime(info, pin));
    return text + table.bare("  ");
}

void add_row(Table& table, std::string_view label, const Tried& tried, const Tried& before) {
    const Bytes peak = tried.result.peak.reserved;
    table.row(label, format_bytes(peak), change(peak, before.result.peak.reserved),
              format_count(tried.result.refusals()), format_count(tried.result.stats.retries),
              format_duration(tried.device_time()), format_duration(tried.result.growth_time),
              tried.peak_spread ? range_text(*tried.peak_spread) : "", setting_name(tried));
}

// Whether the recorded run differs from a replay of its settings, in the table's figures.
bool is_apart(const Advice& advice) {
    const TrialResult& replayed = advice.search.before.result;
    return advice.recorded && (advice.recorded->peak.reserved != replayed.peak.reserved ||
                               advice.recorded->refusals() != replayed.refusals());
}

std::string settings_text(const Advice& advice) {
    const SearchResult& search = advice.search;
    std::string text = "\nWhat was tried\n";
    if (search.interrupted)
        text += fmt::format("  Interrupted after {}: the best so far.\n",
                            format_counted(search.trials, "setting"));
    // The verdict says that nothing helps; "What stands out" lists what would have to be freed.
    if (advice.no_fit)
        return text + fmt::format("  {}\n", format_counted(search.trials, "setting"));
    if (!advice.spread_verdict.empty())
        text += fmt::format("  {}\n", printable(advice.spread_verdict));
    Table table = Table::untitled("lrrrrrrrl");
    table.row("", "peak reserved", "", "out of memory", "retries", "driver + waits",
              "of which growth", search.before.peak_spread ? "run to run" : "");
    if (is_apart(advice))
        table.row("recorded", format_bytes(advice.recorded->peak.reserved), "",
                  format_count(advice.recorded->refusals()),
                  format_count(advice.recorded->stats.retries), "", "", "",
                  "the run itself, with its own caches and placement");
    add_row(table, "now", search.before, search.before);
    if (search.improves)
        add_row(table, "recommended", search.best, search.before);
    for (const Tried& other : search.others)
        add_row(table, "or", other, search.before);
    if (search.dear)
        add_row(table, "too slow", *search.dear, search.before);
    text += table.bare("  ");
    for (const Tried& other : search.others)
        if (!other.line.empty())
            text += "  or" + line_text(other);
    return text;
}

std::string bounds_text(const Advice& advice) {
    const Bytes best = advice.search.best.result.peak.reserved;
    const Bytes floor = advice.search.floor;
    std::string text = fmt::format("  Floor: {} (peak of live blocks)", format_bytes(floor));
    if (floor > 0)
        text += fmt::format(
            "; the {} {}", advice.search.improves ? "best setting needs" : "current settings need",
            best > 2 * floor ? fmt::format("{:.1f} times as much", share_of(best, floor))
            : best > floor + floor / 2000 ? format_share(best - floor, floor) + " more"
                                          : "no more");
    text += fmt::format(". The program requested at most {}.\n  Offline bound: {}, {}.\n",
                        format_bytes(advice.peak_requested), offline_figure(advice.offline),
                        offline_meaning(advice.offline));
    if (const std::string larger = largest_steps_text(advice.largest_steps); !larger.empty())
        text += "  " + larger;
    if (advice.others.empty())
        return text;
    text += "  Other allocators, for comparison:";
    for (const OtherPolicy& other : advice.others)
        text += fmt::format("{} {} {}{}", &other == advice.others.data() ? "" : ",", other.name,
                            format_bytes(other.result.peak.reserved),
                            other.result.refusals() > 0 ? " (out of memory)" : "");
    return text + "\n";
}

std::string remarks(const std::vector<std::string>& warnings,
                    const std::vector<std::string>& notes) {
    std::string text;
    for (const std::string& warning : warnings)
        text += fmt::format("\nwarning: {}\n", printable(warning));
    for (const std::string& note : notes)
        text += fmt::format("\nnote: {}\n", printable(note));
    return text;
}

}  // namespace

std::string advice_text(const std::string& name, const TraceInfo& info, const Advice& advice) {
    return verdict_text(info, advice) + head(name, info, advice) +
           report::out_of_memory_text(advice.out_of_memory, advice.limit_text) +
           exceeds(info, advice) + memory_text(info, advice) + holders_text(advice) +
           fragmentation_text(info, advice) +
           (info.is_state() ? std::string() : settings_text(advice) + bounds_text(advice)) +
           remarks(advice.warnings, advice.notes) + trace_notes(info);
}

std::string growth_text(const std::string& before, const std::string& after, const Growth& growth) {
    std::string text = fmt::format("{} -> {}\n", printable(before), printable(after));
    Table totals = Table::untitled("lrrr");
    const auto add = [&totals](std::string_view label, Bytes first, Bytes second) {
        totals.row(label, format_bytes(first), format_bytes(second), difference(first, second));
    };
    totals.row("", "before", "after", "difference");
    add("live at the end", growth.before.end.bytes, growth.after.end.bytes);
    add("live at the peak", growth.before.peak.bytes, growth.after.peak.bytes);
    add("reserved at the peak", growth.before.peak_reserved, growth.after.peak_reserved);
    text += totals.bare("  ");
    if (growth.entries.empty())
        return text + "\nNothing differs.\n" + remarks(growth.warnings, {});

    text += fmt::format("\nWhat grew, {}\n", growth.by_site ? "by call site" : "by size");
    Table table = Table::untitled("rrrll");
    table.row("at the end", "at the peak", "blocks");
    for (const GrowthEntry& entry : growth.entries) {
        table.row(difference(entry.end_before.bytes, entry.end_after.bytes),
                  difference(entry.peak_before.bytes, entry.peak_after.bytes),
                  fmt::format("{} -> {}", format_count(entry.peak_before.blocks),
                              format_count(entry.peak_after.blocks)),
                  to_text(entry.change),
                  entry.name.empty() ? "(no stack recorded)" : one_line(entry.name));
    }
    text += table.bare("  ");
    if (growth.more > 0)
        text += fmt::format("  and {} more\n", format_count(growth.more));
    if (!growth.by_site)
        text += "\nnote: blocks are grouped by size, since not both traces have call stacks\n";
    return text + remarks(growth.warnings, {});
}

}  // namespace tidemark
