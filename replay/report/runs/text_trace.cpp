// The report of a trace as text: what recorded it, what happened in it, and its anomalies.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/advise/memory.h"
#include "replay/facts/missing_history.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/text.h"

namespace tidemark {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kBinsMost = 16;
constexpr std::size_t kShownMost = 16;  // streams, settings: of the rest, the count

std::string devices(const TraceInfo& info) {
    constexpr std::size_t kNamedMost = 5;
    std::string text;
    for (const TraceDevice& device :
         std::span(info.devices)
             .first(info.devices.size() > kNamedMost + 1 ? kNamedMost : info.devices.size())) {
        text += text.empty() ? "" : "; ";
        text += device.name.empty() ? "not named" : one_line(device.name);
        text += device.total_memory == 0 ? ", size not recorded"
                                         : fmt::format(", {}", format_bytes(device.total_memory));
    }
    if (info.devices.size() > kNamedMost + 1)
        text += fmt::format("; and {} more", info.devices.size() - kNamedMost);
    return text;
}

std::string utc_time(Nanoseconds since_epoch) {
    const auto seconds = static_cast<std::time_t>(since_epoch / 1'000'000'000);
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

std::string head(const std::string& name, const TraceInfo& info, const TraceSummary& summary) {
    Table table = Table::untitled("ll");
    table.row("format", one_line(info.format));
    table.row("recorded by", info.source.empty() ? "not known" : one_line(info.source));
    table.row("devices", devices(info));
    if (info.start_time > 0)
        table.row("started", utc_time(info.start_time));
    table.row("duration", info.duration > 0 ? format_duration(info.duration) : "no times");
    if (info.is_state())
        table.row("history", "none: this is the state at one moment, not a run");
    else if (info.preamble_count > 0)
        table.row("starts mid-run",
                  fmt::format("{} live before the first event",
                              format_counted(summary.preamble_live, "allocation")));
    return fmt::format("{}\n{}", printable(name), table.bare("  "));
}

std::string event_kinds(const TraceSummary& summary) {
    Table table = Table::untitled("lrl");
    for (const KindCount& kind : summary.kinds)
        table.row(to_text(kind.kind), format_count(kind.count),
                  is_truth(kind.kind) && kind.kind != EventKind::execution
                      ? "(decided by the recorded system)"
                      : "");
    return fmt::format("\nEvents: {}\n{}", format_count(summary.events), table.bare("  "));
}

std::string peak_text(const Peak& peak, const TraceInfo& info) {
    std::string text = fmt::format("at event {}", format_count(peak.event));
    if (info.duration > 0)
        text += fmt::format(", {}", format_duration(peak.time));
    return text;
}

std::string memory(const TraceInfo& info, const TraceSummary& summary) {
    Table table = Table::untitled("lrl");
    table.row("requested, peak", format_bytes(summary.requested.value),
              peak_text(summary.requested, info));
    if (summary.has_recorded_reserved)
        table.row("reserved when recorded, peak", format_bytes(summary.recorded_reserved.value),
                  peak_text(summary.recorded_reserved, info));
    table.row("live allocations, peak", format_count(summary.live.value),
              peak_text(summary.live, info));
    table.row("allocations", format_count(summary.allocations),
              format_bytes(summary.allocated) + " in total");
    table.row("never freed", format_count(summary.never_freed),
              format_bytes(summary.never_freed_bytes));
    if (summary.out_of_memory > 0)
        table.row("out of memory when recorded", format_count(summary.out_of_memory));
    if (info.gpus() < info.devices.size())
        table.row(fmt::format("{}, peak", kHostMemory),
                  format_bytes(summary.devices.back().requested.value),
                  peak_text(summary.devices.back().requested, info));
    return table.section(info.gpus() > 1 ? fmt::format("Memory, sum of {} devices", info.gpus())
                                         : "Memory");
}

std::string streams(const TraceInfo& info, const TraceSummary& summary) {
    if (summary.streams.size() <= 1 && info.devices.size() <= 1)
        return {};
    Table table = Table::untitled("lrrr");
    table.row("stream", "events", "allocations", "allocated");
    for (const StreamSummary& stream : summary.streams) {
        if (to_integer(stream.stream) >= kShownMost)
            break;
        table.row(fmt::format("{} (0x{:x})", to_integer(stream.stream), stream.handle),
                  format_count(stream.events), format_count(stream.allocations),
                  format_bytes(stream.allocated));
    }
    std::string text = table.section("Streams: " + format_count(summary.streams.size()));
    if (info.devices.size() > 1) {
        Table each = Table::untitled("lrrr");
        each.row("device", "allocations", "requested, peak", "reserved when recorded");
        for (std::size_t i = 0; i < std::min(summary.devices.size(), kShownMost); ++i)
            each.row(fmt::format("{} {}", i, one_line(info.devices[i].name, 40)),
                     format_count(summary.devices[i].allocations),
                     format_bytes(summary.devices[i].requested.value),
                     summary.has_recorded_reserved
                         ? format_bytes(summary.devices[i].recorded_reserved.value)
                         : "not known");
        text += each.section(summary.devices.size() > kShownMost
                                 ? "Devices: " + format_count(summary.devices.size())
                                 : "Devices");
    }
    return text;
}

std::string uses(const UseCounts& counts) {
    if (counts.launches == 0)
        return {};
    Table table = Table::untitled("lrl");
    table.row("launches, copies and fills", format_count(counts.launches));
    table.row("blocks that they use", format_count(counts.uses), "each counted once per launch");
    if (counts.possible > 0)
        table.row("of these, possible ones", format_count(counts.possible),
                  "an address within an argument, which may mean something else");
    if (counts.unknown_launches > 0)
        table.row("launches with unknown uses", format_count(counts.unknown_launches),
                  "graphs, and kernels whose arguments aren't known");
    if (counts.executions > 0) {
        table.row("executions", format_count(counts.executions),
                  "when the GPU ran them; each kernel of a graph");
        table.row("their time, summed", format_duration(counts.execution_time));
    }
    return table.section("Uses");
}

std::string pools(const TraceInfo& info, const TraceSummary& summary) {
    if (summary.pools.size() <= 1)
        return {};
    Table table = Table::untitled("lrrr");
    table.row("pool", "allocations", "allocated", "requested, peak");
    for (std::size_t i = 0; i < std::min(summary.pools.size(), kShownMost); ++i) {
        const PoolSummary& pool = summary.pools[i];
        const std::string text = pool_text(info, pool.pool);
        const std::string numbered = fmt::format("pool {}", to_integer(pool.pool));
        table.row(text == numbered
                      ? text
                      : fmt::format("{} {}", to_integer(pool.pool), one_line(text, 60)),
                  format_count(pool.allocations), format_bytes(pool.allocated),
                  format_bytes(pool.peak_requested));
    }
    return table.section("Pools: " + format_count(summary.pools.size()));
}

// The same with bins of `powers` powers of two each, for histograms that would fill a screen. A bin
// keeps its lowest value.
Histogram joined(const Histogram& bins, int powers) {
    Histogram result;
    int last = -1;  // which of the wider bins the last one is
    for (const HistogramBin& bin : bins) {
        const int wide = bin.low == 0 ? -1 : std::countr_zero(bin.low) / powers;
        if (result.empty() || wide != last) {
            result.push_back(bin);
        } else {
            result.back().count += bin.count;
            result.back().bytes = capped_sum(result.back().bytes, bin.bytes);
        }
        last = wide;
    }
    return result;
}

// At most kBinsMost bins: 65 powers of two and the zeros make 14 of five each.
Histogram fitted(const Histogram& all) {
    Histogram bins = all;
    for (int powers = 2; bins.size() > kBinsMost; ++powers)
        bins = joined(all, powers);
    return bins;
}

// A line for each bin: its range, how many, their bytes, and a bar.
template <class Label>
std::string histogram(std::string_view title, const Histogram& all, Label label) {
    const Histogram bins = fitted(all);
    std::uint64_t most = 0;
    for (const HistogramBin& bin : bins)
        most = std::max(most, bin.count);
    if (most == 0)
        return {};
    Table table = Table::untitled("rrrl");
    table.row(title, "count", "bytes");
    for (const HistogramBin& bin : bins) {
        const double share = static_cast<double>(bin.count) / static_cast<double>(most);
        auto length = static_cast<std::size_t>(std::round(share * kBarWidth));
        if (bin.count > 0)
            length = std::max<std::size_t>(length, 1);
        table.row(label(bin.low), format_count(bin.count), format_bytes(bin.bytes),
                  std::string(length, '#'));
    }
    return fmt::format("\n{}", table.bare("  "));
}

std::string histograms(const TraceSummary& summary) {
    std::string text = histogram("size from", summary.sizes, format_bytes);
    text += histogram("lifetime, events", summary.lifetime_events, format_count);
    return text + histogram("lifetime", summary.lifetime_times, [](std::uint64_t time) {
               return format_duration(static_cast<Nanoseconds>(time));
           });
}

std::string pairs_table(std::string_view title,
                        const std::vector<std::pair<std::string, std::string>>& values) {
    Table table = Table::untitled("ll");
    for (std::size_t i = 0; i < std::min(values.size(), kShownMost); ++i)
        table.row(one_line(values[i].first, 40), one_line(values[i].second, 100));
    std::string text = table.section(title);
    if (values.size() > kShownMost)
        text += fmt::format("  and {} more\n", values.size() - kShownMost);
    return text;
}

std::string ranges(const TraceSummary& summary) {
    Table table = Table::untitled("lr");
    for (const RangeCount& range : summary.ranges)
        table.row(one_line(range.name, 100), format_count(range.count));
    return table.section(
        fmt::format("Ranges: {}, the most frequent", format_counted(summary.range_names, "name")));
}

}  // namespace

std::string trace_notes(const TraceInfo& info) {
    const Anomalies& odd = info.anomalies;
    const std::pair<std::uint64_t, std::string_view> counts[] = {
        {odd.unknown_frees, "freed what was never allocated"},
        {odd.double_frees, "freed twice"},
        {odd.reused_live, "allocated at an address that was still live"},
        {odd.zero_sizes, "allocated with size 0"},
        {odd.giant_sizes, "allocated with a size that no machine has"},
        {odd.unknown_actions, "of a kind that this version doesn't know"},
        {odd.bad_records, "malformed and skipped"},
        {odd.backward_times, "earlier than the one before it"},
    };
    std::string text;
    for (const auto& [count, what] : counts)
        if (count > 0)
            text += fmt::format("note: {} {}\n", format_counted(count, "event"), what);
    for (const std::string& warning : info.warnings)
        text += fmt::format("note: {}\n", one_line(warning, 1000));
    return text;
}

std::string trace_text(const std::string& name, const TraceInfo& info,
                       const TraceSummary& summary) {
    std::string notes = trace_notes(info);
    if (info.is_state())
        notes += fmt::format("note: to replay a run, {}\n", facts::how_to_record(info));
    if (summary.unmatched > 0)
        notes += fmt::format("note: {} about allocations that the trace never introduced\n",
                             format_counted(summary.unmatched, "event"));
    return head(name, info, summary) + event_kinds(summary) + memory(info, summary) +
           streams(info, summary) + uses(summary.uses) + pools(info, summary) +
           histograms(summary) + ranges(summary) +
           pairs_table("Settings of the recorded allocator", info.settings) +
           pairs_table("Also in the file", info.metadata) +
           (notes.empty() ? notes : fmt::format("\n{}", notes));
}

}  // namespace tidemark
