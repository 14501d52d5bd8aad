// Estimates, each with a note that marks it as one.
#include "backends/machines/discovered_machine.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>

#include "backends/topology/block_devices.h"
#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr double kShare = 0.85;             // of a link's raw bandwidth that copies get
constexpr double kNvlinkSpeed = 25e9;       // bytes a second, one link, one direction (2nd to 4th)
constexpr Nanoseconds kCopyLatency = 7000;  // as on an H200
constexpr Nanoseconds kPeerLatency = 3000;
constexpr PciLink kUsualLink{.fastest_speed_gts = 16, .max_width = 16};  // PCIe 4.0

// Typical figures of a kind of drive.
struct DriveFigures {
    FoundLink write;
    FoundLink read;
    std::string_view description;
};

DriveFigures figures_of(const std::optional<BlockDevice>& drive) {
    // Virtual drives report that they rotate, whatever is below them.
    if (drive && drive->rotating && drive->kind == BlockKind::sata)
        return {{150e6, 8'000'000}, {150e6, 8'000'000}, "a rotating drive"};
    switch (drive ? drive->kind : BlockKind::other) {
        case BlockKind::nvme:
            return {{3e9, 20'000}, {5e9, 80'000}, "an NVMe drive"};
        case BlockKind::raid:
            return {{3e9, 20'000}, {5e9, 80'000}, "an array, as one NVMe drive"};
        case BlockKind::sata:
            return {{500e6, 60'000}, {530e6, 100'000}, "a SATA drive"};
        case BlockKind::other:
            break;
    }
    return {{1e9, 100'000}, {1e9, 200'000}, "a drive of unknown kind"};
}

double pci_bandwidth(const PciLink& link) {
    return link.fastest_speed_gts * 1e9 * link.max_width / 8 * kShare;
}

bool is_known(const std::optional<PciCard>& card) {
    return card && card->link.fastest_speed_gts > 0 && card->link.max_width > 0;
}

class Discovery {
  public:
    Discovery(const Topology& topology, const DiscoveryQuestion& question)
        : topology_(topology), question_(question) {
        result_.found.name = question.name;
    }

    Result<DiscoveredMachine> run() {
        add_nodes();
        if (topology_.cuda) {
            for (const Gpu& gpu : topology_.cuda->gpus)
                add_gpu(gpu);
            for (const Gpu& gpu : topology_.cuda->gpus)
                add_peers(gpu);
        }
        for (const std::string& directory : question_.directories)
            TM_TRY(add_disk(directory));
        return std::move(result_);
    }

  private:
    void note(std::string what, std::string how) {
        result_.notes.emplace_back(std::move(what), std::move(how));
    }

    void add_nodes();
    void add_gpu(const Gpu& gpu);
    void link_gpu(const Gpu& gpu, FoundGpu& found);
    void add_peers(const Gpu& gpu);
    Result<void> add_disk(const std::string& directory);

    const Gpu* find_gpu(int ordinal) const {
        for (const Gpu& gpu : topology_.cuda->gpus) {
            if (gpu.cuda.ordinal == ordinal)
                return &gpu;
        }
        return nullptr;
    }

    const Topology& topology_;
    const DiscoveryQuestion& question_;
    DiscoveredMachine result_;
    std::vector<dev_t> file_systems_;
};

void Discovery::add_nodes() {
    for (const NumaNode& node : topology_.host.nodes) {
        if (node.total > 0)
            result_.found.nodes.push_back({static_cast<std::int32_t>(node.id), node.total});
    }
    note("host capacity",
         "half of the node's memory, so that programs keep room; change it freely");
}

void Discovery::add_gpu(const Gpu& gpu) {
    FoundGpu found{.id = gpu.cuda.ordinal, .memory = gpu.cuda.total_memory};
    found.node = gpu.cuda.numa_node;
    if (found.node < 0 && gpu.card)
        found.node = gpu.card->numa_node;
    const bool known = std::any_of(result_.found.nodes.begin(), result_.found.nodes.end(),
                                   [&](const FoundNode& node) { return node.id == found.node; });
    if (!known)
        found.node = -1;
    note(fmt::format("gpu:{}", found.id), gpu.cuda.name);
    link_gpu(gpu, found);
    result_.found.gpus.push_back(found);
}

void Discovery::link_gpu(const Gpu& gpu, FoundGpu& found) {
    const std::string what = fmt::format("gpu:{} <-> host", found.id);
    for (const MeasuredLinks& measured : question_.measured) {
        if (measured.gpu != gpu.cuda.name)
            continue;
        found.to_host = measured.to_host;
        found.from_host = measured.from_host;
        return note(what, "measured on a " + measured.gpu);
    }
    const PciLink link = is_known(gpu.card) ? gpu.card->link : kUsualLink;
    found.to_host = {pci_bandwidth(link), kCopyLatency};
    found.from_host = found.to_host;
    note(what, fmt::format("{}: 85 % of PCI with {:g} GT/s on {} lanes; latency assumed, as on an "
                           "H200; --measure measures both",
                           is_known(gpu.card) ? "estimated" : "assumed, the link is unknown",
                           link.fastest_speed_gts, link.max_width));
}

void Discovery::add_peers(const Gpu& gpu) {
    for (const int ordinal : gpu.cuda.peers) {
        const Gpu* peer = find_gpu(ordinal);
        if (peer == nullptr || peer == &gpu)
            continue;
        const unsigned links = std::min(gpu.nvlinks.value_or(0), peer->nvlinks.value_or(0));
        const auto pci = [](const Gpu& end) {
            return pci_bandwidth(is_known(end.card) ? end.card->link : kUsualLink);
        };
        const double bandwidth =
            links > 0 ? links * kNvlinkSpeed * kShare : std::min(pci(gpu), pci(*peer));
        result_.found.peers.push_back({gpu.cuda.ordinal, ordinal, {bandwidth, kPeerLatency}});
        note(fmt::format("gpu:{} -> gpu:{}", gpu.cuda.ordinal, ordinal),
             links > 0 ? fmt::format("estimated: 85 % of {} NVLinks of 25 GB/s", links)
                       : "estimated: the slower of their two PCI links");
    }
}

Result<void> Discovery::add_disk(const std::string& directory) {
    struct stat facts {};

    std::error_code none;
    if (stat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
        return fail(ErrorCode::not_found, "no such directory", directory);
    const auto same = std::find(file_systems_.begin(), file_systems_.end(), facts.st_dev);
    if (same != file_systems_.end())
        return fail(
            ErrorCode::bad_option,
            fmt::format(
                "is on the same file system as {}",
                question_.directories[static_cast<std::size_t>(same - file_systems_.begin())]),
            directory, "one of them is enough: they share its space and its speed");
    file_systems_.push_back(facts.st_dev);
    const auto room = std::filesystem::space(directory, none);
    if (none || room.available == 0)
        return fail(ErrorCode::bad_option, "has no space", directory);
    const std::optional<BlockDevice> drive = block_device_of(directory, question_.root);
    const DriveFigures figures = figures_of(drive);
    note(fmt::format("disk:{}", result_.found.disks.size()),
         fmt::format("{}: {}{}; bandwidth and latency assumed for {}; capacity is what was free",
                     directory, drive ? "on " : "on a drive unknown to the kernel",
                     drive ? drive->name : "", figures.description));
    result_.found.disks.push_back({.capacity = std::min<Bytes>(room.available, kLargestSpace),
                                   .directories = {directory},
                                   .write = figures.write,
                                   .read = figures.read});
    return {};
}

}  // namespace

Result<DiscoveredMachine> discover_machine(const Topology& topology,
                                           const DiscoveryQuestion& question) {
    return Discovery(topology, question).run();
}

}  // namespace tidemark
