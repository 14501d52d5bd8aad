// What is measured when, and the notes about it.
#include "backends/machines/measured_machine.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "backends/machines/measure_disk.h"
#include "backends/machines/measure_gpu_links.h"
#include "backends/numa/node_thread.h"
#include "backends/numa/numa_bandwidth.h"
#include "backends/topology/block_devices.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr Nanoseconds kMostForGpu = 10'000'000'000;
constexpr Nanoseconds kShareForDisk = 2;  // of the budget, and no disk gets more
constexpr Nanoseconds kMostForNodes = 3'000'000'000;
constexpr Bytes kLargestCopy = 1_GiB;
constexpr Bytes kShareOfHost = 16;  // of what is available, pinned in one buffer

// Describes links that got `both` together.
std::string_view bus_text(double bus, double both) {
    if (bus == 0)
        return ": they share nothing";
    return bus > both * 1.01
               ? ": they share a bus, which gets at least as much as one of them alone"
               : ": they share a bus";
}

class MachineMeasurement {
  public:
    MachineMeasurement(DiscoveredMachine& machine, const MeasureQuestion& question)
        : machine_(machine), found_(machine.found), question_(question) {}

    Result<std::vector<MeasuredFigure>> run();

  private:
    using Pair = std::pair<const NumaNode*, const NumaNode*>;

    MeasuringLimits limits(Nanoseconds most) const;

    bool is_requested(std::int32_t gpu) const {
        return std::find(question_.gpus.begin(), question_.gpus.end(), gpu) != question_.gpus.end();
    }

    std::vector<Pair> node_pairs() const;

    void part_done() { ++done_; }

    void note(std::string what, std::string how) {
        machine_.notes.emplace_back(std::move(what), std::move(how));
    }

    std::string take_note(const std::string& what);
    void keep_estimate(const std::string& what, const Error& error);
    Result<void> keep_unless_cancelled(const std::string& what, const Error& error);
    double add(const std::string& what, std::string_view name, const Figure& figure,
               const std::string& where, const std::string& how);

    Result<GpuLinkFigures> gpu_figures(const FoundGpu& gpu, std::string& name) const;
    Result<void> measure_gpu(FoundGpu& gpu);
    FoundLink add_link(const std::string& what, const LinkFigures& figures,
                       const std::string& where, const GpuLinkFigures& sizes);
    Result<void> measure_nodes(const Pair& pair);
    Result<void> measure_disk_of(std::size_t number);
    void add_disk(std::size_t number, const DiskFigures& figures);
    FoundLink add_direction(const std::string& what, const DiskDirection& figures,
                            const std::string& where, const std::string& how);

    DiscoveredMachine& machine_;
    FoundMachine& found_;
    const MeasureQuestion& question_;
    std::vector<MeasuredFigure> measured_;
    std::size_t parts_ = 0;
    std::size_t done_ = 0;
};

MeasuringLimits MachineMeasurement::limits(Nanoseconds most) const {
    MeasuringLimits limits{
        .runs = question_.runs,
        .budget = std::min<Nanoseconds>(most, question_.budget / static_cast<Nanoseconds>(parts_)),
        .stop = question_.stop};
    limits.progress = [this](double share) {
        if (question_.progress)
            question_.progress((static_cast<double>(done_) + share) / static_cast<double>(parts_));
    };
    return limits;
}

// Both directions between nodes that are spaces.
std::vector<MachineMeasurement::Pair> MachineMeasurement::node_pairs() const {
    std::vector<Pair> pairs;
    for (const FoundNode& source : found_.nodes) {
        for (const FoundNode& target : found_.nodes) {
            if (source.id == target.id || question_.host == nullptr)
                continue;
            const HostNodes& nodes = question_.host->nodes();
            pairs.emplace_back(nodes.find(static_cast<unsigned>(source.id)),
                               nodes.find(static_cast<unsigned>(target.id)));
            if (pairs.back().first == nullptr || pairs.back().second == nullptr)
                pairs.pop_back();
        }
    }
    return pairs;
}

// Removes and returns the note on `what`; "" if there is none.
std::string MachineMeasurement::take_note(const std::string& what) {
    const auto found = std::find_if(machine_.notes.begin(), machine_.notes.end(),
                                    [&](const auto& each) { return each.first == what; });
    if (found == machine_.notes.end())
        return {};
    std::string how = std::move(found->second);
    machine_.notes.erase(found);
    return how;
}

void MachineMeasurement::keep_estimate(const std::string& what, const Error& error) {
    const std::string how = take_note(what);
    note(what, fmt::format("{}{}not measured: {}", how, how.empty() ? "" : "; ", to_text(error)));
}

Result<void> MachineMeasurement::keep_unless_cancelled(const std::string& what,
                                                       const Error& error) {
    if (error.code == ErrorCode::cancelled)
        return tl::make_unexpected(error);
    keep_estimate(what, error);
    return {};
}

double MachineMeasurement::add(const std::string& what, std::string_view name, const Figure& figure,
                               const std::string& where, const std::string& how) {
    note(fmt::format("{} {}", what, name),
         fmt::format("measured on {}, {}: {}", where, spread_text(figure), how));
    measured_.push_back({what, name, figure});
    return std::round(figure.median);
}

// On the node that the GPU is nearest to, so that pinned memory is there.
Result<GpuLinkFigures> MachineMeasurement::gpu_figures(const FoundGpu& gpu,
                                                       std::string& name) const {
    Bytes largest = kLargestCopy;
    const NumaNode* node = nullptr;
    if (question_.host != nullptr) {
        const HostNodes& nodes = question_.host->nodes();
        node = gpu.node < 0 ? nullptr : nodes.find(static_cast<unsigned>(gpu.node));
        const NumaNode& first = nodes.nodes.front();
        largest = std::min(largest, (node != nullptr ? *node : first).available / kShareOfHost);
    }
    Result<GpuLinkFigures> figures = fail(ErrorCode::unsupported, "it was not tried");
    const auto measure = [&] {
        auto device = question_.open_gpu(gpu.id);
        if (!device) {
            figures = tl::make_unexpected(std::move(device).error());
            return;
        }
        name = (*device)->name();
        figures = measure_gpu_links(**device, limits(kMostForGpu), largest);
    };
    if (node == nullptr || !run_on_node(*node, measure))
        measure();
    return figures;
}

FoundLink MachineMeasurement::add_link(const std::string& what, const LinkFigures& figures,
                                       const std::string& where, const GpuLinkFigures& sizes) {
    FoundLink link;
    link.bytes_per_second = add(what, "bytes_per_second", figures.bytes_per_second, where,
                                fmt::format("the slope from {} to {} of pinned memory",
                                            format_bytes(sizes.less), format_bytes(sizes.more)));
    link.overhead = static_cast<Nanoseconds>(
        add(what, "overhead", figures.overhead, where,
            "what each of many copies of 64 KiB in a row took in addition to its bytes"));
    link.latency = static_cast<Nanoseconds>(
        add(what, "latency", figures.latency, where,
            "what a single one took beyond that, until the host noticed its end"));
    return link;
}

Result<void> MachineMeasurement::measure_gpu(FoundGpu& gpu) {
    const std::string estimate = fmt::format("gpu:{} <-> host", gpu.id);
    std::string where;
    const Result<GpuLinkFigures> figures = gpu_figures(gpu, where);
    if (!figures)
        return keep_unless_cancelled(estimate, figures.error());
    take_note(estimate);
    gpu.to_host =
        add_link(fmt::format("gpu:{} -> host", gpu.id), figures->to_host, where, *figures);
    gpu.from_host =
        add_link(fmt::format("host -> gpu:{}", gpu.id), figures->from_host, where, *figures);
    const std::array alone{gpu.to_host.bytes_per_second, gpu.from_host.bytes_per_second};
    gpu.both = std::round(bus_bandwidth(figures->both.median, alone));
    add(estimate, "bytes_per_second", figures->both, where,
        fmt::format("both directions at once, {:.0f} % of their sum{}",
                    100 * figures->both.median / (alone[0] + alone[1]),
                    bus_text(gpu.both, figures->both.median)));
    return {};
}

Result<void> MachineMeasurement::measure_nodes(const Pair& pair) {
    const auto source = static_cast<std::int32_t>(pair.first->id);
    const auto target = static_cast<std::int32_t>(pair.second->id);
    const std::string what = fmt::format("host:{} -> host:{}", source, target);
    const MeasuringLimits limits = this->limits(kMostForNodes);
    std::vector<double> samples;
    for (unsigned i = 0; i < limits.runs; ++i) {
        TM_TRY(limits.go_on());
        const Result<NumaBandwidth> run = measure_bandwidth(
            *question_.host,
            {.cpu_node = pair.first->cpus.empty() ? pair.second->id : pair.first->id,
             .memory_node = pair.second->id,
             .budget = limits.budget / limits.runs,
             .source_node = pair.first->id});
        if (!run) {
            keep_estimate(what, run.error());
            return {};
        }
        samples.push_back(run->bytes_per_second);
        limits.show(i + 1);
    }
    FoundLink link;
    link.bytes_per_second =
        add(what, "bytes_per_second", figure_of(std::move(samples)), "this computer",
            "the fastest copy of 32 MiB by one processor in a run; overhead and latency 0");
    found_.node_links.push_back({source, target, link});
    return {};
}

FoundLink MachineMeasurement::add_direction(const std::string& what, const DiskDirection& figures,
                                            const std::string& where, const std::string& how) {
    FoundLink link;
    link.bytes_per_second = add(what, "bytes_per_second", figures.bytes_per_second, where, how);
    link.latency = static_cast<Nanoseconds>(
        add(what, "latency", figures.latency, where,
            fmt::format("what a single request took beyond its bytes, a chunk of {} or 4 KiB, "
                        "whichever is more; 4 KiB took {} in total; overhead 0",
                        format_bytes(DiskQuestion{}.chunk),
                        format_duration(static_cast<Nanoseconds>(figures.small.median)))));
    measured_.push_back({what, "small_request", figures.small});
    return link;
}

void MachineMeasurement::add_disk(std::size_t number, const DiskFigures& figures) {
    FoundDisk& disk = found_.disks[number];
    const std::string& directory = disk.directories.front();
    const std::optional<BlockDevice> drive = block_device_of(directory, question_.root);
    const std::string where = drive ? fmt::format("{} ({})", drive->name, directory) : directory;
    const std::string way = fmt::format(
        "files of {} in chunks of {}, {} in flight, {}", format_bytes(figures.size),
        format_bytes(DiskQuestion{}.chunk), DiskQuestion{}.in_flight,
        figures.direct ? "direct" : "through the page cache, emptied in between (no direct I/O)");
    const std::string id = fmt::format("disk:{}", number);
    const std::string estimate = take_note(id);
    note(id, fmt::format("{}{}; capacity is what was free, {}", directory,
                         drive ? " on " + drive->name : ", on a drive unknown to the kernel",
                         format_bytes(figures.free)));
    disk.write =
        add_direction("host -> " + id, figures.write, where, way + ", each ended by a sync");
    if (figures.read.bytes_per_second.runs > 0)
        disk.read = add_direction(id + " -> host", figures.read, where, way);
    else
        note(id + " -> host", fmt::format("{}; not measured: {}", estimate, figures.obstacle));
    if (figures.both.runs == 0) {
        note("host <-> " + id,
             "assumed: both at once get what the faster one gets alone; not measured, as there are "
             "no direct transfers");
        return;
    }
    const std::array alone{disk.write.bytes_per_second, disk.read.bytes_per_second};
    const double sum = alone[0] + alone[1];
    const double bus = bus_bandwidth(figures.both.median, alone);
    disk.both = std::round(bus > 0 ? bus : sum);
    add("host <-> " + id, "bytes_per_second", figures.both, where,
        fmt::format("both directions at once, {:.0f} % of their sum{}",
                    100 * figures.both.median / sum, bus_text(bus, figures.both.median)));
}

Result<void> MachineMeasurement::measure_disk_of(std::size_t number) {
    const std::string id = fmt::format("disk:{}", number);
    const std::string& directory = found_.disks[number].directories.front();
    if (is_in_memory(directory)) {
        keep_estimate(id, {ErrorCode::unsupported, "its file system is in memory: no disk",
                           directory, "name a directory on a disk: --disk DIR"});
        return {};
    }
    DiskQuestion question{.directory = directory,
                          .limits = limits(question_.budget / kShareForDisk),
                          .now = question_.now};
    question.limits.runs = std::max(3U, question_.runs / 2 + 1);
    const Result<DiskFigures> figures = measure_disk(*question_.files, question);
    if (!figures)
        return keep_unless_cancelled(id, figures.error());
    add_disk(number, *figures);
    return {};
}

Result<std::vector<MeasuredFigure>> MachineMeasurement::run() {
    const std::vector<Pair> pairs = node_pairs();
    const auto gpus = static_cast<std::size_t>(
        std::count_if(found_.gpus.begin(), found_.gpus.end(),
                      [this](const FoundGpu& gpu) { return is_requested(gpu.id); }));
    parts_ = std::max<std::size_t>(1, gpus + pairs.size() + found_.disks.size());
    for (FoundGpu& gpu : found_.gpus) {
        if (!is_requested(gpu.id))
            continue;
        TM_TRY(measure_gpu(gpu));
        part_done();
    }
    for (const Pair& pair : pairs) {
        TM_TRY(measure_nodes(pair));
        part_done();
    }
    for (std::size_t number = 0; number < found_.disks.size(); ++number) {
        TM_TRY(measure_disk_of(number));
        part_done();
    }
    return std::move(measured_);
}

}  // namespace

Result<std::vector<MeasuredFigure>> measure_machine(DiscoveredMachine& machine,
                                                    const MeasureQuestion& question) {
    return MachineMeasurement(machine, question).run();
}

}  // namespace tidemark
