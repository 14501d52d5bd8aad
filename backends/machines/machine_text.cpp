// Writing machines: one space, link or bus per line, so that a diff shows what changed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "backends/machines/machine_json.h"
#include "backends/sim/json_text.h"

namespace tidemark {
namespace {

// A fraction if six digits can express it, else the bytes that it means.
std::string threshold_text(double fraction, Bytes capacity) {
    const std::string text = fmt::format("{}", fraction);
    constexpr std::size_t kShort = 8;  // "0." and six digits
    if (text.size() <= kShort && text.find('e') == std::string::npos)
        return text;
    const Bytes bytes = bytes_of_fraction(fraction, capacity);
    return bytes > 1 ? fmt::format("{}", bytes) : json_text(fmt::format("{}B", bytes));
}

std::string space_text(const SpaceSpec& space) {
    std::vector<std::string> members{
        json_member("id", json_text(to_text(space.id))),
        json_member("capacity", fmt::format("{}", space.capacity)),
        json_member("granularity", fmt::format("{}", space.granularity)),
        json_member("reservation_limit", threshold_text(space.reservation_limit, space.capacity)),
        json_member("spill_start", threshold_text(space.spill_start, space.capacity)),
        json_member("spill_stop", threshold_text(space.spill_stop, space.capacity)),
    };
    if (space.id.tier == Tier::host) {
        members.push_back(json_member("block", fmt::format("{}", space.block)));
        members.push_back(json_member("blocks_per_pool", fmt::format("{}", space.blocks_per_pool)));
        members.push_back(json_member("initial_pools", fmt::format("{}", space.initial_pools)));
    }
    if (space.id.tier == Tier::disk) {
        std::vector<std::string> directories;
        for (const std::string& directory : space.directories)
            directories.push_back(json_text(directory));
        members.push_back(
            json_member("directories", fmt::format("[{}]", fmt::join(directories, ", "))));
    }
    return fmt::format("{{{}}}", fmt::join(members, ", "));
}

std::string link_text(const LinkSpec& link) {
    std::vector<std::string> members{
        json_member("source", json_text(to_text(link.source))),
        json_member("target", json_text(to_text(link.target))),
        json_member("bytes_per_second", fmt::format("{}", link.bytes_per_second)),
        json_member("overhead", fmt::format("{}", link.overhead)),
        json_member("latency", fmt::format("{}", link.latency)),
    };
    if (!link.bus.empty())
        members.push_back(json_member("bus", json_text(link.bus)));
    return fmt::format("{{{}}}", fmt::join(members, ", "));
}

std::string bus_text(const BusSpec& bus) {
    return fmt::format("{{{}, {}}}", json_member("name", json_text(bus.name)),
                       json_member("bytes_per_second", fmt::format("{}", bus.bytes_per_second)));
}

// `"name": [` and one element per line.
template <class T>
std::string list_text(std::string_view name, const std::vector<T>& list,
                      std::string (*text)(const T&)) {
    std::vector<std::string> lines;
    for (const T& item : list)
        lines.push_back("    " + text(item));
    const std::string_view ends = lines.empty() ? "" : "\n";
    return fmt::format("  {}: [{}{}{}]", json_text(name), ends, fmt::join(lines, ",\n"),
                       lines.empty() ? "" : "\n  ");
}

}  // namespace

std::string machine_text(const DescribedMachine& described) {
    const MachineSpec& machine = described.machine;
    std::vector<std::string> parts{
        "  \"format\": \"tidemark-machine\"",
        "  \"version\": 1",
        "  " + json_member("name", json_text(machine.name)),
        list_text("spaces", machine.spaces, space_text),
        list_text("links", machine.links, link_text),
        list_text("buses", machine.buses, bus_text),
    };
    std::vector<std::string> derived;
    for (const auto& [what, how] : described.derived)
        derived.push_back("    " + json_member(what, json_text(how)));
    if (!derived.empty())
        parts.push_back(fmt::format("  \"derived\": {{\n{}\n  }}", fmt::join(derived, ",\n")));
    return fmt::format("{{\n{}\n}}\n", fmt::join(parts, ",\n"));
}

std::uint64_t machine_hash(const MachineSpec& machine) {
    const std::string text = machine_text({machine, {}});
    return XXH3_64bits(text.data(), text.size());
}

}  // namespace tidemark
