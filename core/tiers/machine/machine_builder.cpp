// Choosing, dividing, and linking what was found.
#include "core/tiers/machine/machine_builder.h"

#include <algorithm>

#include <fmt/format.h>

namespace tidemark {
namespace {

constexpr Bytes kGpuGranularity = 512;    // of cudaMalloc
constexpr Bytes kDiskGranularity = 4096;  // of direct I/O
constexpr Bytes kHostBlock = 1_MiB;
constexpr std::uint32_t kInitialPools = 4;

template <class T>
const T* find_id(const std::vector<T>& list, std::int32_t id) {
    const auto found =
        std::find_if(list.begin(), list.end(), [id](const T& item) { return item.id == id; });
    return found == list.end() ? nullptr : &*found;
}

template <class T>
bool has_twice(const std::vector<T>& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const T& item) { return find_id(list, item.id) != &item; });
}

// The chosen GPUs by id, each with the node it is on.
Result<std::vector<FoundGpu>> choose_gpus(std::span<const std::int32_t> ids,
                                          const FoundMachine& found) {
    std::vector<FoundGpu> chosen = ids.empty() ? found.gpus : std::vector<FoundGpu>{};
    for (const std::int32_t id : ids) {
        const FoundGpu* gpu = find_id(found.gpus, id);
        if (gpu == nullptr)
            return fail(ErrorCode::bad_option, fmt::format("there is no GPU {}", id), "gpus");
        if (find_id(chosen, id) != nullptr)
            return fail(ErrorCode::bad_option, fmt::format("GPU {} is listed twice", id), "gpus");
        chosen.push_back(*gpu);
    }
    std::sort(chosen.begin(), chosen.end(),
              [](const FoundGpu& a, const FoundGpu& b) { return a.id < b.id; });
    for (FoundGpu& gpu : chosen) {
        if (gpu.node < 0)
            gpu.node = found.nodes.front().id;
        if (find_id(found.nodes, gpu.node) == nullptr)
            return fail(ErrorCode::bad_input,
                        fmt::format("GPU {} is on node {}, which was not found", gpu.id, gpu.node));
    }
    return chosen;
}

Result<void> check_found(const FoundMachine& found) {
    if (found.nodes.empty())
        return fail(ErrorCode::bad_input, "no host memory was found");
    if (has_twice(found.gpus) || has_twice(found.nodes))
        return fail(ErrorCode::bad_input, "a GPU or node was found twice");
    return {};
}

// The nodes that have a space, by id.
std::vector<FoundNode> host_nodes(const std::vector<FoundGpu>& gpus, const FoundMachine& found) {
    std::vector<FoundNode> hosts;
    for (const FoundNode& node : found.nodes) {
        if (gpus.empty() || std::any_of(gpus.begin(), gpus.end(),
                                        [&](const FoundGpu& gpu) { return gpu.node == node.id; }))
            hosts.push_back(node);
    }
    std::sort(hosts.begin(), hosts.end(),
              [](const FoundNode& a, const FoundNode& b) { return a.id < b.id; });
    return hosts;
}

SpaceSpec host_space(const FoundNode& host) {
    SpaceSpec space{.id = {Tier::host, host.id}, .capacity = host.memory / 2};
    space.granularity = space.block = kHostBlock;
    space.initial_pools = static_cast<std::uint32_t>(
        std::min<Bytes>(kInitialPools, space.capacity / kHostBlock / space.blocks_per_pool));
    return space;
}

// A link there, if a connection exists.
void add_link(MachineSpec& machine, SpaceId source, SpaceId target, const FoundLink& link,
              const std::string& bus = {}) {
    if (link.bytes_per_second > 0)
        machine.links.push_back({.source = source,
                                 .target = target,
                                 .bytes_per_second = link.bytes_per_second,
                                 .overhead = link.overhead,
                                 .latency = link.latency,
                                 .bus = bus});
}

void link_gpu(MachineSpec& machine, const FoundGpu& gpu, const std::vector<FoundNode>& hosts) {
    const SpaceId id{Tier::gpu, gpu.id};
    const bool both = gpu.both > 0;
    const bool shared = hosts.size() > 1 && !both;
    const std::string one = both ? fmt::format("gpu{}-host", gpu.id) : "";
    const std::string out = shared ? fmt::format("gpu{}-to-host", gpu.id) : one;
    const std::string in = shared ? fmt::format("gpu{}-from-host", gpu.id) : one;
    for (const FoundNode& host : hosts) {
        add_link(machine, id, {Tier::host, host.id}, gpu.to_host, out);
        add_link(machine, {Tier::host, host.id}, id, gpu.from_host, in);
    }
    if (both)
        machine.buses.push_back({one, gpu.both});
    if (shared && gpu.to_host.bytes_per_second > 0)
        machine.buses.push_back({out, gpu.to_host.bytes_per_second});
    if (shared && gpu.from_host.bytes_per_second > 0)
        machine.buses.push_back({in, gpu.from_host.bytes_per_second});
}

void link_disk(MachineSpec& machine, std::size_t number, const FoundDisk& disk,
               const std::vector<FoundNode>& hosts) {
    const SpaceId id{Tier::disk, static_cast<std::int32_t>(number)};
    const std::string bus = fmt::format("disk{}", number);
    for (const FoundNode& host : hosts) {
        add_link(machine, {Tier::host, host.id}, id, disk.write, bus);
        add_link(machine, id, {Tier::host, host.id}, disk.read, bus);
    }
    const double both = disk.both > 0
                            ? disk.both
                            : std::max(disk.write.bytes_per_second, disk.read.bytes_per_second);
    if (both > 0)
        machine.buses.push_back({bus, both});
}

void add_links(const std::vector<FoundGpu>& gpus, const std::vector<FoundNode>& hosts,
               const FoundMachine& found, MachineSpec& machine) {
    for (const FoundGpu& gpu : gpus)
        link_gpu(machine, gpu, hosts);
    for (const FoundPeer& peer : found.peers) {
        if (find_id(gpus, peer.source) != nullptr && find_id(gpus, peer.target) != nullptr)
            add_link(machine, {Tier::gpu, peer.source}, {Tier::gpu, peer.target}, peer.link);
    }
    for (const FoundPeer& pair : found.node_links) {
        if (pair.source != pair.target && find_id(hosts, pair.source) != nullptr &&
            find_id(hosts, pair.target) != nullptr)
            add_link(machine, {Tier::host, pair.source}, {Tier::host, pair.target}, pair.link);
    }
    for (std::size_t i = 0; i < found.disks.size(); ++i)
        link_disk(machine, i, found.disks[i], hosts);
}

}  // namespace

Result<MachineSpec> build_machine(const FoundMachine& found, std::span<const std::int32_t> gpus) {
    TM_TRY(check_found(found));
    TM_ASSIGN(const std::vector<FoundGpu> chosen, choose_gpus(gpus, found));
    const std::vector<FoundNode> hosts = host_nodes(chosen, found);
    MachineSpec machine;
    machine.name = found.name;
    for (const FoundGpu& gpu : chosen)
        machine.spaces.push_back(
            {.id = {Tier::gpu, gpu.id}, .capacity = gpu.memory, .granularity = kGpuGranularity});
    for (const FoundNode& host : hosts)
        machine.spaces.push_back(host_space(host));
    for (std::size_t i = 0; i < found.disks.size(); ++i)
        machine.spaces.push_back({.id = {Tier::disk, static_cast<std::int32_t>(i)},
                                  .capacity = found.disks[i].capacity,
                                  .granularity = kDiskGranularity,
                                  .directories = found.disks[i].directories});
    add_links(chosen, hosts, found, machine);
    TM_TRY(machine.validate());
    return machine;
}

}  // namespace tidemark
