// Words for a trace: what recorded it, what happened in it, and what is odd about it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/advise/memory.h"
#include "replay/report/forms/wording.h"
#include "replay/report/runs/text.h"

namespace tidemark {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kBinsMost = 16;
constexpr std::size_t kShownMost = 16;  // streams, settings: the rest is counted

void add_line(Table& table, std::string label, std::string value) {
    table.add({{std::move(label)}, {std::move(value)}});
}

std::string devices(const TraceInfo& info) {
    std::string text;
    for (const TraceDevice& device : info.devices) {
        text += text.empty() ? "" : "; ";
        text += device.name.empty() ? "not named" : one_line(device.name);
        text += device.total_memory == 0 ? ", size not recorded"
                                         : fmt::format(", {}", format_bytes(device.total_memory));
    }
    return text;
}

// Days and time of day in UTC, without the C library's zones and locales (H. Hinnant's civil date).
std::string utc_time(Nanoseconds since_epoch) {
    const std::int64_t seconds = since_epoch / 1'000'000'000;
    const std::int64_t day = seconds / 86'400;
    const std::int64_t shifted = day + 719'468;
    const std::int64_t era = shifted / 146'097;
    const std::int64_t of_era = shifted - era * 146'097;
    const std::int64_t year_of_era =
        (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
    const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted_month = (5 * of_year + 2) / 153;
    const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    const std::int64_t of_day = seconds % 86'400;
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC",
                       year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
                       of_year - (153 * shifted_month + 2) / 5 + 1, of_day / 3600, of_day / 60 % 60,
                       of_day % 60);
}

std::string head(const std::string& name, const TraceInfo& info, const TraceSummary& summary) {
    Table table({{"", Align::left}, {"", Align::left}});
    add_line(table, "format", one_line(info.format));
    add_line(table, "recorded by", info.source.empty() ? "not known" : one_line(info.source));
    add_line(table, "devices", devices(info));
    if (info.start_time > 0)
        add_line(table, "started", utc_time(info.start_time));
    add_line(table, "duration", info.duration > 0 ? format_duration(info.duration) : "no times");
    if (info.preamble_count > 0)
        add_line(table, "starts inside",
                 fmt::format("{} lived before the first event",
                             format_counted(summary.preamble_live, "allocation")));
    return fmt::format("{}\n{}", printable(name), table.bare("  "));
}

std::string event_kinds(const TraceSummary& summary) {
    Table table({{"", Align::left}, {"", Align::right}, {"", Align::left}});
    for (const KindCount& kind : summary.kinds)
        table.add({{std::string(to_text(kind.kind))},
                   {format_count(kind.count)},
                   {is_truth(kind.kind) ? "(decided by the recorded system)" : ""}});
    return fmt::format("\nEvents: {}\n{}", format_count(summary.events), table.bare("  "));
}

std::string peak_text(const Peak& peak, const TraceInfo& info) {
    std::string text = fmt::format("at event {}", format_count(peak.event));
    if (info.duration > 0)
        text += fmt::format(", {}", format_duration(peak.time));
    return text;
}

std::string memory(const TraceInfo& info, const TraceSummary& summary) {
    Table table({{"", Align::left}, {"", Align::right}, {"", Align::left}});
    const auto add = [&table](std::string label, std::string value, std::string note) {
        table.add({{std::move(label)}, {std::move(value)}, {std::move(note)}});
    };
    add("requested, peak", format_bytes(summary.requested.value),
        peak_text(summary.requested, info));
    if (summary.has_recorded_reserved)
        add("reserved when recorded, peak", format_bytes(summary.recorded_reserved.value),
            peak_text(summary.recorded_reserved, info));
    add("live allocations, peak", format_count(summary.live.value), peak_text(summary.live, info));
    add("allocations", format_count(summary.allocations),
        format_bytes(summary.allocated) + " together");
    add("never freed", format_count(summary.never_freed), format_bytes(summary.never_freed_bytes));
    if (summary.out_of_memory > 0)
        add("out of memory when recorded", format_count(summary.out_of_memory), "");
    return fmt::format(
        "\nMemory{}\n{}",
        info.devices.size() > 1 ? fmt::format(", sum of {} devices", info.devices.size()) : "",
        table.bare("  "));
}

std::string streams(const TraceInfo& info, const TraceSummary& summary) {
    if (summary.streams.size() <= 1 && info.devices.size() <= 1)
        return {};
    Table table({{"", Align::left}, {"", Align::right}, {"", Align::right}, {"", Align::right}});
    table.add({{"stream"}, {"events"}, {"allocations"}, {"allocated"}});
    for (const StreamSummary& stream : summary.streams) {
        if (to_integer(stream.stream) >= kShownMost)
            break;
        table.add({{fmt::format("{} (0x{:x})", to_integer(stream.stream), stream.handle)},
                   {format_count(stream.events)},
                   {format_count(stream.allocations)},
                   {format_bytes(stream.allocated)}});
    }
    std::string text =
        fmt::format("\nStreams: {}\n{}", format_count(summary.streams.size()), table.bare("  "));
    if (info.devices.size() > 1) {
        Table each({{"", Align::left}, {"", Align::right}, {"", Align::right}, {"", Align::right}});
        each.add({{"device"}, {"allocations"}, {"requested, peak"}, {"reserved when recorded"}});
        for (std::size_t i = 0; i < summary.devices.size(); ++i)
            each.add({{std::to_string(i)},
                      {format_count(summary.devices[i].allocations)},
                      {format_bytes(summary.devices[i].requested.value)},
                      {summary.has_recorded_reserved
                           ? format_bytes(summary.devices[i].recorded_reserved.value)
                           : "not known"}});
        text += fmt::format("\nDevices\n{}", each.bare("  "));
    }
    return text;
}

std::string pools(const TraceInfo& info, const TraceSummary& summary) {
    if (summary.pools.size() <= 1)
        return {};
    Table table({{"", Align::left}, {"", Align::right}, {"", Align::right}, {"", Align::right}});
    table.add({{"pool"}, {"allocations"}, {"allocated"}, {"requested, peak"}});
    for (std::size_t i = 0; i < std::min(summary.pools.size(), kShownMost); ++i) {
        const PoolSummary& pool = summary.pools[i];
        table.add({{fmt::format("{} {}", to_integer(pool.pool),
                                one_line(pool_text(info, pool.pool), 60))},
                   {format_count(pool.allocations)},
                   {format_bytes(pool.allocated)},
                   {format_bytes(pool.peak_requested)}});
    }
    return fmt::format("\nPools: {}\n{}", format_count(summary.pools.size()), table.bare("  "));
}

// The same with bins of `powers` powers of two each, for histograms that would fill a screen. A bin
// keeps the lowest value that it was given.
Histogram joined(const Histogram& bins, int powers) {
    Histogram result;
    int last = -1;  // which of the wider bins the last one is
    for (const HistogramBin& bin : bins) {
        const int wide = bin.low == 0 ? -1 : std::countr_zero(bin.low) / powers;
        if (result.empty() || wide != last) {
            result.push_back(bin);
        } else {
            result.back().count += bin.count;
            result.back().bytes += bin.bytes;
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
    Table table({{"", Align::right}, {"", Align::right}, {"", Align::right}, {"", Align::left}});
    table.add({{std::string(title)}, {"count"}, {"bytes"}, {""}});
    for (const HistogramBin& bin : bins) {
        const double share = static_cast<double>(bin.count) / static_cast<double>(most);
        auto length = static_cast<std::size_t>(std::round(share * kBarWidth));
        if (bin.count > 0)
            length = std::max<std::size_t>(length, 1);
        table.add({{label(bin.low)},
                   {format_count(bin.count)},
                   {format_bytes(bin.bytes)},
                   {std::string(length, '#')}});
    }
    return fmt::format("\n{}", table.bare("  "));
}

std::string histograms(const TraceSummary& summary) {
    std::string text = histogram("size from", summary.sizes, format_bytes);
    text += histogram("lives for events", summary.lifetime_events, format_count);
    return text + histogram("lives for", summary.lifetime_times, [](std::uint64_t time) {
               return format_duration(static_cast<Nanoseconds>(time));
           });
}

std::string pairs_table(std::string_view title,
                        const std::vector<std::pair<std::string, std::string>>& values) {
    if (values.empty())
        return {};
    Table table({{"", Align::left}, {"", Align::left}});
    for (std::size_t i = 0; i < std::min(values.size(), kShownMost); ++i)
        add_line(table, one_line(values[i].first, 40), one_line(values[i].second, 100));
    std::string text = fmt::format("\n{}\n{}", title, table.bare("  "));
    if (values.size() > kShownMost)
        text += fmt::format("  and {} more\n", values.size() - kShownMost);
    return text;
}

std::string ranges(const TraceSummary& summary) {
    if (summary.ranges.empty())
        return {};
    Table table({{"", Align::left}, {"", Align::right}});
    for (const RangeCount& range : summary.ranges)
        add_line(table, one_line(range.name, 100), format_count(range.count));
    return fmt::format("\nRanges: {}, the most frequent\n{}",
                       format_counted(summary.range_names, "name"), table.bare("  "));
}

}  // namespace

std::string trace_notes(const TraceInfo& info) {
    const Anomalies& odd = info.anomalies;
    const std::pair<std::uint64_t, std::string_view> counts[] = {
        {odd.unknown_frees, "freed although it never lived"},
        {odd.double_frees, "freed twice"},
        {odd.reused_live, "allocated at an address that was still live"},
        {odd.zero_sizes, "allocated with size 0"},
        {odd.giant_sizes, "allocated with a size that no machine has"},
        {odd.unknown_actions, "of a kind that this version does not know"},
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
    if (summary.unmatched > 0)
        notes += fmt::format("note: {} about allocations that the trace never introduced\n",
                             format_counted(summary.unmatched, "event"));
    return head(name, info, summary) + event_kinds(summary) + memory(info, summary) +
           streams(info, summary) + pools(info, summary) + histograms(summary) + ranges(summary) +
           pairs_table("Settings of the recorded allocator", info.settings) +
           pairs_table("Also in the file", info.metadata) +
           (notes.empty() ? notes : fmt::format("\n{}", notes));
}

}  // namespace tidemark
