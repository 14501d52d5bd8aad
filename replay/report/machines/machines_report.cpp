// Machines as text and as JSON.
#include "replay/report/machines/machines_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/text.h"
#include "replay/report/forms/json_values.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

using report::Json;

std::string bandwidth_text(double bytes_per_second) {
    return fmt::format("{:.3g} GB/s", bytes_per_second / 1e9);
}

std::string duration_or_none(Nanoseconds duration) {
    return duration == 0 ? "" : format_duration(duration);
}

// "2 x gpu 80 GiB, host 512 GiB": spaces of one tier and size are counted together.
std::string summary_text(const MachineSpec& machine) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < machine.spaces.size();) {
        const SpaceSpec& first = machine.spaces[i];
        std::size_t end = i;
        while (end < machine.spaces.size() && machine.spaces[end].id.tier == first.id.tier &&
               machine.spaces[end].capacity == first.capacity)
            ++end;
        const std::string count = end - i > 1 ? fmt::format("{} x ", end - i) : "";
        parts.push_back(
            fmt::format("{}{} {}", count, to_text(first.id.tier), format_bytes(first.capacity)));
        i = end;
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string spaces_text(const MachineSpec& machine) {
    Table table({{"space", Align::left},
                 {"capacity"},
                 {"reservations to"},
                 {"spills from"},
                 {"down to"},
                 {"rounded to"},
                 {"", Align::left}});
    for (const SpaceSpec& space : machine.spaces) {
        const Thresholds thresholds = space.thresholds();
        const bool background = thresholds.spill_start < space.capacity;
        const std::string blocks =
            space.id.tier == Tier::host
                ? fmt::format("blocks of {}, {} at a time", format_bytes(space.block),
                              space.blocks_per_pool)
                : fmt::format("{}", fmt::join(space.directories, ", "));
        table.row(to_text(space.id), format_bytes(space.capacity), format_bytes(thresholds.limit),
                  background ? format_bytes(thresholds.spill_start) : "on demand",
                  background ? format_bytes(thresholds.spill_stop) : "",
                  format_bytes(space.granularity), printable(blocks));
    }
    return table.ruled(Emphasis::none);
}

std::string links_text(const MachineSpec& machine) {
    Table table(
        {{"link", Align::left}, {"bandwidth"}, {"overhead"}, {"latency"}, {"shared", Align::left}});
    for (const LinkSpec& link : machine.links)
        table.row(fmt::format("{} -> {}", to_text(link.source), to_text(link.target)),
                  bandwidth_text(link.bytes_per_second), duration_or_none(link.overhead),
                  duration_or_none(link.latency), printable(link.bus));
    for (const BusSpec& bus : machine.buses)
        table.row(printable(bus.name), bandwidth_text(bus.bytes_per_second));
    return table.ruled(Emphasis::none);
}

Json space_of(const SpaceSpec& space) {
    const Thresholds thresholds = space.thresholds();
    const bool host = space.id.tier == Tier::host;
    return {{"space", to_text(space.id)},
            {"capacity_bytes", space.capacity},
            {"granularity_bytes", space.granularity},
            {"reservation_limit_bytes", thresholds.limit},
            {"spill_start_bytes", thresholds.spill_start},
            {"spill_stop_bytes", thresholds.spill_stop},
            {"block_bytes", host ? Json(space.block) : Json()},
            {"blocks_per_pool", host ? Json(space.blocks_per_pool) : Json()},
            {"initial_pools", host ? Json(space.initial_pools) : Json()},
            {"directories", space.directories}};
}

Json link_of(const LinkSpec& link) {
    return {{"source", to_text(link.source)},
            {"target", to_text(link.target)},
            {"bytes_per_second", link.bytes_per_second},
            {"overhead_ns", link.overhead},
            {"latency_ns", link.latency},
            {"bus", report::or_null(link.bus)}};
}

Json machine_of(const DescribedMachine& described) {
    const MachineSpec& machine = described.machine;
    const auto bus_of = [](const BusSpec& bus) -> Json {
        return {{"name", bus.name}, {"bytes_per_second", bus.bytes_per_second}};
    };
    const auto derived_of = [](const auto& each) -> Json {
        return {{"what", each.first}, {"how", each.second}};
    };
    return {{"name", machine.name},
            {"hash", report::hash_text(machine_hash(machine))},
            {"spaces", report::list_of(machine.spaces, space_of)},
            {"links", report::list_of(machine.links, link_of)},
            {"buses", report::list_of(machine.buses, bus_of)},
            {"derived", report::list_of(described.derived, derived_of)}};
}

Json measured_of(const MeasuredFigure& measured) {
    return {{"what", measured.what},
            {"figure", measured.name},
            {"median", measured.figure.median},
            {"least", measured.figure.least},
            {"most", measured.figure.most},
            {"runs", measured.figure.runs}};
}

}  // namespace

std::string machines_text(std::span<const DescribedMachine> machines) {
    Table table = Table::untitled("ll");
    for (const DescribedMachine& described : machines)
        table.row(printable(described.machine.name), summary_text(described.machine));
    return table.bare("") + "\nOne of them: tidemark machines NAME\n";
}

std::string machine_report_text(const DescribedMachine& described, const std::string& target) {
    const MachineSpec& machine = described.machine;
    std::string text = fmt::format("{}: {}\n\n{}", printable(machine.name), summary_text(machine),
                                   spaces_text(machine));
    if (!machine.links.empty())
        text += "\n" + links_text(machine);
    if (!described.derived.empty())
        text += "\n";
    for (const auto& [what, how] : described.derived)
        text += fmt::format("{}: {}\n", printable(what), printable(how));
    if (!target.empty())
        text += fmt::format("\nwrote {}\n", printable(target));
    return text;
}

std::string machines_json(std::span<const DescribedMachine> machines,
                          std::span<const MeasuredFigure> measured, const std::string& target,
                          const Provenance& provenance) {
    return report::text_of({{"machines", report::list_of(machines, machine_of)},
                            {"measured", report::list_of(measured, measured_of)},
                            {"target", report::or_null(target)},
                            {"provenance", report::provenance_of(provenance)}});
}

}  // namespace tidemark
