// Devices and capabilities as text: a short line each, with details indented below.
#include "replay/report/machines/topology_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "replay/report/forms/table.h"
#include "replay/report/forms/wording.h"

namespace tidemark {
namespace {

// Adds `part` to `line`, after a comma.
void add(std::string& line, const std::string& part) {
    if (!part.empty())
        line += (line.empty() ? "" : ", ") + part;
}

// 0 1 2 3 8 as "0-3,8".
std::string ranges_text(std::span<const unsigned> numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
        if (last != i)
            text += fmt::format("-{}", numbers[last]);
        i = last + 1;
    }
    return text;
}

std::string link_text(const PciLink& link) {
    if (link.fastest_speed_gts == 0 || link.max_width == 0)
        return "";
    std::string text = fmt::format("{:g} GT/s x{}", link.fastest_speed_gts, link.max_width);
    if (link.width != 0 && link.width < link.max_width)
        text += fmt::format(" (in an x{} slot)", link.width);
    return text;
}

std::string connection_text(const Gpu& gpu) {
    std::string line;
    if (!gpu.cuda.pci_address.empty())
        line = "PCI " + gpu.cuda.pci_address;
    add(line, gpu.card ? link_text(gpu.card->link) : "");
    if (gpu.nvlinks.value_or(0) != 0)
        add(line, format_counted(*gpu.nvlinks, "NVLink"));
    if (gpu.cuda.numa_node >= 0)
        add(line, fmt::format("near node {}", gpu.cuda.numa_node));
    return line;
}

std::string features_text(const CudaDeviceInfo& gpu) {
    std::string line;
    if (gpu.virtual_memory)
        line = fmt::format("virtual memory (pages of {})", format_bytes(gpu.granularity));
    add(line, gpu.memory_pools ? "memory pools" : "");
    add(line, gpu.graphs ? "graphs" : "");
    add(line, gpu.batch_copies ? "batched copies" : "");
    add(line, gpu.posix_handles ? "shared handles" : "");
    add(line, gpu.fabric_handles ? "fabric handles" : "");
    add(line, gpu.ipc ? "IPC" : "");
    add(line, gpu.host_numa_memory ? "memory on host nodes" : "");
    return line;
}

std::string peers_text(const CudaDeviceInfo& gpu) {
    std::string names;
    for (const int peer : gpu.peers)
        add(names, fmt::format("cuda:{}", peer));
    return names.empty() ? "" : "reaches " + names;
}

// A name and its lines, the first one next to it.
void add_entry(Table& table, const std::string& name, std::span<const std::string> lines) {
    bool first = true;
    for (const std::string& line : lines) {
        if (line.empty())
            continue;
        table.row(first ? name : "", printable(line));
        first = false;
    }
}

void add_gpu(Table& table, const Gpu& gpu) {
    const CudaDeviceInfo& info = gpu.cuda;
    std::string what =
        fmt::format("{}, {}, compute {}.{}", info.name, format_bytes(info.total_memory),
                    info.compute_major, info.compute_minor);
    if (info.multiprocessors > 0)
        add(what, format_counted(static_cast<std::size_t>(info.multiprocessors), "multiprocessor"));
    add_entry(table, fmt::format("cuda:{}", info.ordinal),
              std::array{what, connection_text(gpu), features_text(info), peers_text(info)});
}

void add_gpus(Table& table, const Topology& topology) {
    if (!topology.cuda || topology.cuda->gpus.empty()) {
        add_entry(table, "no GPU", std::array<std::string, 1>{"see `tidemark doctor`"});
        return;
    }
    for (const Gpu& gpu : topology.cuda->gpus)
        add_gpu(table, gpu);
    std::string driver = cuda_version_text(topology.cuda->version);
    if (topology.nvml && !topology.nvml->empty())
        add(driver, "driver " + *topology.nvml);
    add_entry(table, "", std::array{driver});
}

void add_host(Table& table, const Topology& topology) {
    std::string host = topology.processor;
    add(host, topology.processors != 0 ? format_counted(topology.processors, "processor") : "");
    if (topology.memory != 0)
        add(host, fmt::format("{}, {} available", format_bytes(topology.memory),
                              format_bytes(topology.memory_available)));
    add_entry(table, "host", std::array{host});
    for (const NumaNode& node : topology.host.nodes) {
        if (topology.host.nodes.size() == 1)
            break;  // the host's line has everything
        std::string distances;
        for (const unsigned distance : node.distances)
            distances += fmt::format(" {}", distance);
        std::string line =
            fmt::format("{}, {} free", format_bytes(node.total), format_bytes(node.free));
        add(line, node.cpus.empty() ? "no processors" : "processors " + ranges_text(node.cpus));
        add_entry(table, fmt::format("node {}", node.id),
                  std::array{line + ", distances" + distances});
    }
}

std::string bandwidths_text(const Topology& topology, std::span<const NumaBandwidth> bandwidths) {
    if (bandwidths.empty())
        return "";
    std::vector<TableColumn> columns{{"copying on", Align::left}};
    for (const NumaNode& node : topology.host.nodes)
        columns.push_back({fmt::format("memory of node {}", node.id)});
    Table table(std::move(columns));
    for (const NumaNode& from : topology.host.nodes) {
        std::vector<TableCell> row{{fmt::format("node {}", from.id)}};
        for (const NumaNode& to : topology.host.nodes) {
            const auto found = std::ranges::find_if(bandwidths, [&](const NumaBandwidth& each) {
                return each.cpu_node == from.id && each.memory_node == to.id;
            });
            row.push_back({found == bandwidths.end()
                               ? "-"
                               : fmt::format("{:.1f} GB/s", found->bytes_per_second / 1e9)});
        }
        table.add(std::move(row));
    }
    return "\n" + table.ruled(Emphasis::none);
}

}  // namespace

std::string devices_text(const Topology& topology, std::span<const CostProfile> profiles,
                         std::span<const NumaBandwidth> bandwidths) {
    Table table = Table::untitled("ll");
    add_gpus(table, topology);
    add_host(table, topology);
    for (const CostProfile& profile : profiles)
        add_entry(table, "sim:" + profile.name,
                  std::array{fmt::format("simulated {}, {}", profile.device,
                                         format_bytes(profile.memory))});
    return table.bare("") + bandwidths_text(topology, bandwidths);
}

std::vector<std::string_view> missing_of(std::span<const Finding> findings,
                                         std::span<const std::string_view> required) {
    std::vector<std::string_view> missing;
    for (const Finding& finding : findings)
        if (!finding.here && std::ranges::find(required, finding.name) != required.end())
            missing.push_back(finding.name);
    return missing;
}

std::string doctor_text(std::span<const Finding> findings,
                        std::span<const std::string_view> required) {
    Table table = Table::untitled("lll");
    for (const Finding& finding : findings) {
        const bool curable = !finding.here && !finding.hint.empty();
        const std::string aside = finding.here             ? finding.what
                                  : !finding.needs.empty() ? fmt::format("needs {}", finding.needs)
                                  : curable                ? ""
                                                           : finding.why;
        table.row(finding.here ? "yes" : "no", finding.name,
                  printable(aside.empty() ? std::string(finding.use)
                                          : fmt::format("{} ({})", finding.use, aside)));
        if (!curable)
            continue;
        table.row("", "", printable("why: " + finding.why));
        table.row("", "", printable("do:  " + finding.hint));
    }
    std::string text = table.bare("");
    std::string missing;
    for (const std::string_view name : missing_of(findings, required))
        add(missing, std::string(name));
    if (!missing.empty())
        text += fmt::format("\nRequired but missing: {}\n", missing);
    return text;
}

}  // namespace tidemark
