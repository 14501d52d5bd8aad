// The text about a run. The other reports have their own files (text_*.cpp).
#include "replay/report/runs/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/analysis/spread/spread_text.h"
#include "replay/metrics/devices.h"
#include "replay/report/findings/out_of_memory_report.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

// Returns the measurements of a run by name and remembers which are still to be shown.
class Figures {
  public:
    explicit Figures(const std::vector<Measurement>& all) : all_(all) {}

    // Its text, or "" if this run has no such figure.
    std::string take(std::string_view name) {
        const Measurement* found = find(name);
        return found == nullptr ? std::string() : figure_text(*found);
    }

    const Measurement* find(std::string_view name) {
        for (const Measurement& each : all_) {
            if (each.name == name) {
                taken_.insert(each.name);
                return &each;
            }
        }
        return nullptr;
    }

    // Those that nobody took, so that a new metric appears without a change here.
    std::vector<const Measurement*> rest() const {
        std::vector<const Measurement*> result;
        for (const Measurement& each : all_)
            if (!taken_.contains(each.name))
                result.push_back(&each);
        return result;
    }

    const std::vector<Measurement>& all() const { return all_; }

  private:
    const std::vector<Measurement>& all_;
    std::set<std::string_view> taken_;
};

// One line of a group: its label, and the name of its figure.
struct Line {
    std::string_view label;
    std::string_view name;
};

constexpr std::array kWaste{
    Line{"peak reserved / peak requested", "overhead_ratio"},
    Line{"external fragmentation at the peak", "external_fragmentation_at_peak"},
    Line{"external fragmentation, mean", "external_fragmentation_mean"},
    Line{"internal fragmentation at the peak", "internal_fragmentation_at_peak"},
    Line{"internal fragmentation, mean", "internal_fragmentation_mean"},
    Line{"largest free block, smallest seen", "largest_free_min_bytes"},
    Line{"largest free block at the end", "largest_free_end_bytes"},
};
constexpr std::array kRequests{
    Line{"out of memory", "out_of_memory"},
    Line{"retries after releasing cached memory", "retries"},
    Line{"segments reserved", "segments_created"},
    Line{"segments released", "segments_released"},
    Line{"waits for the device", "synchronizations"},
};
constexpr std::array kTime{
    Line{"device calls", "device_calls"},
    Line{"time in the driver", "driver_ns"},
    Line{"time stalled", "stall_ns"},
    Line{"length of the run", "makespan_ns"},
};
// Shown only if something happened: most programs use no private pools, tiers or reservations.
constexpr std::array kPools{
    Line{"reserved in private pools, peak", "private_reserved_peak_bytes"},
    Line{"reserved in private pools at the end", "private_reserved_end_bytes"},
    Line{"departures from the plan", "plan_departures"},
};
constexpr std::array kAddresses{
    Line{"reserved at the end", "end_addresses_bytes"},
    Line{"holes: no memory", "end_hole_bytes"},
    Line{"zombies: mapped, used elsewhere", "end_zombie_bytes"},
};
constexpr std::array kDeferred{
    Line{"pending free, peak", "deferred_peak_bytes"},
    Line{"batches", "deferred_flushes"},
};
constexpr std::array kMovement{
    Line{"spilled to host or disk", "spilled_bytes"},
    Line{"fetched back", "fetched_bytes"},
    Line{"reservations", "reservations"},
    Line{"reservation wait, median", "reservation_wait_p50_ns"},
    Line{"reservation wait, 99th percentile", "reservation_wait_p99_ns"},
    Line{"reservation wait, longest", "reservation_wait_max_ns"},
};

std::string group(std::string_view title, std::span<const Line> lines, Figures& figures) {
    Table table = Table::untitled("lr");
    for (const Line& line : lines)
        if (const std::string text = figures.take(line.name); !text.empty())
            table.row(line.label, text);
    return table.section(title);
}

std::string group_if_any(std::string_view title, std::span<const Line> lines, Figures& figures) {
    bool any = false;
    for (const Line& line : lines) {
        const Measurement* figure = figures.find(line.name);
        any = any || (figure != nullptr && figure->whole > 0);
    }
    return any ? group(title, lines, figures) : std::string();
}

// When most of the peak was in use, if that wasn't when it was reached.
std::string fullest_text(Figures& figures, const Measurement& reached) {
    const Measurement* fullest = figures.find("peak_fullest_event");
    if (fullest == nullptr || fullest->whole == reached.whole)
        return {};
    return fmt::format("; fullest at event {}", figure_text(*fullest));
}

// Reserved, allocated, active and requested: at the peak, on average and at the end.
std::string memory_group(Figures& figures, std::size_t devices) {
    Table table = Table::untitled("lrrr");
    table.row(devices > 1 ? fmt::format("Memory, sum of {} devices", devices) : "Memory", "peak",
              "mean", "at the end");
    for (const std::string_view kind : {"reserved", "allocated", "active", "requested"}) {
        table.row(fmt::format("  {}", kind), figures.take(fmt::format("peak_{}_bytes", kind)),
                  figures.take(fmt::format("mean_{}_bytes", kind)),
                  figures.take(fmt::format("end_{}_bytes", kind)));
    }
    std::string text = fmt::format("\n{}", table.bare(""));
    for (const std::string_view kind : {"reserved", "allocated"}) {
        const Measurement* event = figures.find(fmt::format("peak_{}_event", kind));
        const Measurement* time = figures.find(fmt::format("peak_{}_time_ns", kind));
        if (event != nullptr && time != nullptr)
            text += fmt::format("  {} peaked at event {}, {}{}\n", kind, figure_text(*event),
                                figure_text(*time),
                                kind == "reserved" ? fullest_text(figures, *event) : "");
    }
    return text;
}

// What each of several devices needed, at its own peak.
std::string devices_group(Figures& figures, std::span<const DevicePeaks> devices) {
    for (const Measurement& each : figures.all())
        if (is_of_device(each))
            figures.find(each.name);
    if (devices.size() < 2)
        return {};
    Table table = Table::untitled("lrrrr");
    table.row("Peak of each device", "reserved", "allocated", "active", "requested");
    for (std::size_t i = 0; i < devices.size(); ++i)
        table.row("  " + devices[i].text(i), format_bytes(devices[i].reserved),
                  format_bytes(devices[i].allocated), format_bytes(devices[i].active),
                  format_bytes(devices[i].requested));
    return fmt::format("\n{}", table.bare(""));
}

// "malloc 62 in 1.7 ms, free 3 in 88 us": the kinds of device calls that were made.
std::string calls_line(Figures& figures) {
    std::string calls;
    for (const Measurement& each : figures.all()) {
        if (!each.name.starts_with("calls_") || each.name.ends_with("_ns"))
            continue;
        figures.find(each.name);
        const Measurement* time = figures.find(fmt::format("{}_ns", each.name));
        if (each.whole == 0)
            continue;
        calls += fmt::format("{}{} {}", calls.empty() ? "" : ", ", each.name.substr(6),
                             format_count(each.whole));
        if (time != nullptr && time->whole > 0)
            calls += fmt::format(" in {}", figure_text(*time));
    }
    return calls.empty() ? std::string() : fmt::format("  of these: {}\n", calls);
}

std::string other_group(Figures& figures) {
    Table table = Table::untitled("lr");
    for (const Measurement* each : figures.rest())
        table.row(each->name, figure_text(*each));
    return table.section("Other");
}

// The limits of the run, and whether it is the recorded one; "" if it has no limit.
std::string conditions_text(const Run& run) {
    std::string text;
    const auto add = [&text](const std::string& part) {
        text += (text.empty() ? "" : "; ") + part;
    };
    if (const Bytes overhead = run.scenario.held(); overhead > 0)
        add("a card with " + card_text(run.scenario.memory, overhead));
    if (!run.limit_text.empty())
        add(run.limit_text);
    if (run.as_recorded)
        add("as recorded, at the recorded addresses");
    return text.empty() ? text : text + "\n";
}

constexpr std::size_t kTextRefusalsShown = 5;  // --json has more

std::string refusals_text(const Run& run) {
    if (run.refusals.empty())
        return {};
    const std::uint64_t count = run.summary.refused + run.summary.refused_again;
    std::string text = fmt::format("\nOut of memory: {}", format_counted(count, "request"));
    if (run.summary.refused_again > 0)
        text += fmt::format(" ({} as recorded)", format_count(run.summary.refused_again));
    const std::size_t shown = std::min(run.refusals.size(), kTextRefusalsShown);
    if (count > shown)
        text += fmt::format(", the first {}", shown);
    text += "\n";
    for (const Refusal& refusal : std::span(run.refusals).first(shown)) {
        text += fmt::format(
            "  event {}: {} on stream {}: {}; reserved {}, allocated {}, largest free block {}\n",
            format_count(refusal.event), format_bytes(refusal.what.size),
            to_integer(refusal.what.stream), to_text(refusal.why.cause),
            format_bytes(refusal.usage.reserved), format_bytes(refusal.usage.allocated),
            format_bytes(refusal.largest_free));
    }
    return text;
}

std::string hazards_text(const Run& run) {
    if (!run.scenario.check)
        return {};
    if (run.hazard_count == 0)
        return "\nHazards: none\n";
    std::string text = fmt::format("\nHazards: {}", format_count(run.hazard_count));
    if (run.hazard_count > run.hazards.size())
        text += fmt::format(", the first {}", run.hazards.size());
    text += "\n";
    for (const HazardText& hazard : run.hazards)
        text += fmt::format("  {} at events {} and {}: {}\n", hazard.kind,
                            format_count(hazard.first_event), format_count(hazard.second_event),
                            printable(hazard.what));
    return text;
}

// What the driver reports about a real device's memory.
std::string hardware_text(const Run& run) {
    if (!run.device_memory)
        return {};
    return fmt::format(
        "\n{} ({}): free memory fell by {}, {}\n", printable(run.device_name), run.scenario.device,
        format_bytes(run.device_memory->peak),
        run.device_memory->leak == 0
            ? "all of it is back"
            : fmt::format("{} of it did not come back", format_bytes(run.device_memory->leak)));
}

std::string touch_text(const Run& run) {
    if (!run.touch)
        return {};
    const TouchReport& touch = *run.touch;
    std::string text = fmt::format("\nTouched: {} in {}", format_bytes(touch.bytes),
                                   format_counted(touch.allocations, "allocation"));
    if (touch.failures > 0)
        text += fmt::format(", {} failed on the device", format_count(touch.failures));
    if (touch.damaged == 0)
        return text + (touch.failures == 0 ? ": every byte was read back as written\n" : "\n");
    text += fmt::format("; {} in {} of them differ from what was written\n",
                        format_counted(touch.differing, "byte"), format_count(touch.damaged));
    if (const auto& first = touch.first_difference)
        text += fmt::format(
            "  first at event {}: {:#x} in the block of event {}, expected "
            "{:08x}\n",
            format_count(first->event), to_integer(first->address), format_count(first->granted),
            first->expected);
    return text;
}

}  // namespace

std::string run_text(const std::string& name, const Run& run, const TraceInfo& info,
                     const std::string& chart, const OutOfMemoryReport& failure) {
    const double seconds = static_cast<double>(run.summary.elapsed) / 1e9;
    std::string text = fmt::format("{} under {}: {} replayed in {}", printable(name),
                                   run.scenario.policy, format_counted(run.summary.events, "event"),
                                   format_duration(run.summary.elapsed));
    if (seconds > 0)
        text += fmt::format(" ({:.1f} million/s)",
                            static_cast<double>(run.summary.events) / seconds / 1e6);
    text += "\n";
    text += conditions_text(run);
    Figures figures(run.measurements);
    const std::vector<DevicePeaks> devices = device_peaks(run.measurements);
    text += memory_group(figures, gpus_of(devices));
    text += devices_group(figures, devices);
    text += group("Waste", kWaste, figures);
    text += group("Requests", kRequests, figures);
    text += group("Device", kTime, figures);
    text += calls_line(figures);
    text += group_if_any("Private pools", kPools, figures);
    text += group_if_any("Addresses", kAddresses, figures);
    text += group_if_any("Deferred frees", kDeferred, figures);
    text += group_if_any("Tiers and reservations", kMovement, figures);
    text += other_group(figures);
    if (run.peak_spread)
        text += fmt::format(
            "\nFrom run to run, the peak of reserved memory is {}, with a median of {} ({} "
            "replays, "
            "each as another run might go).\n",
            range_text(*run.peak_spread), format_bytes(run.peak_spread->p50),
            format_count(run.peak_spread->runs));
    if (!chart.empty())
        text += fmt::format("\n{}", chart);
    text += failure.cases.empty() ? refusals_text(run)
                                  : report::out_of_memory_text(failure, run.limit_text);
    text += hazards_text(run);
    text += hardware_text(run);
    text += touch_text(run);
    if (run.decisions)
        text += fmt::format("\nDecisions: {}, hash {:016x}\n", format_count(run.decisions->count),
                            run.decisions->hash);
    std::string notes = trace_notes(info);
    if (run.summary.skipped > 0)
        notes += fmt::format(
            "note: skipped {} frees and uses of blocks whose request failed or that were never "
            "allocated\n",
            format_count(run.summary.skipped));
    for (const std::string& warning : run.warnings)
        notes += fmt::format("note: {}\n", printable(warning));
    return notes.empty() ? text : fmt::format("{}\n{}", text, notes);
}

}  // namespace tidemark
