// Choosing, dividing, and linking what was found.
#include "core/tiers/machine/machine_builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tidemark {
namespace {

constexpr Bytes kGpuGranularity = 512;    // of cudaMalloc
constexpr Bytes kDiskGranularity = 4096;  // of direct I/O
constexpr std::uint32_t kInitialPools = 4;

tl::unexpected<Error> refuse(std::string what, std::string where, std::string hint = {}) {
    return fail(ErrorCode::bad_option, std::move(what), std::move(where), std::move(hint));
}

// `amount` in bytes, above 0 and within `whole`, which is what its fractions are of.
Result<Bytes> bytes_of(const Amount& amount, Bytes whole, const std::string& where) {
    if (const auto* fraction = std::get_if<Fraction>(&amount)) {
        if (!(fraction->value > 0 && fraction->value <= 1))
            return refuse(fmt::format("{} is no fraction above 0 and at most 1", fraction->value),
                          where);
        const Bytes bytes = bytes_of_fraction(fraction->value, whole);
        if (bytes == 0)
            return refuse(
                fmt::format("{} of {} is less than a byte", fraction->value, format_bytes(whole)),
                where);
        return bytes;
    }
    const Bytes bytes = std::get<Bytes>(amount);
    if (bytes == 0 || bytes > whole)
        return refuse(fmt::format("{} bytes; expected 1 byte to {}, all there is", bytes,
                                  format_bytes(whole)),
                      where);
    return bytes;
}

// `amount` as the fraction of `capacity` that is it to the byte.
Result<double> fraction_of(const Amount& amount, Bytes capacity, const std::string& where) {
    TM_ASSIGN(const Bytes bytes, bytes_of(amount, capacity, where));
    if (const auto* fraction = std::get_if<Fraction>(&amount))
        return fraction->value;
    return fraction_of_bytes(bytes, capacity);
}

Result<void> set_thresholds(SpaceSpec& space, const WantedThresholds& wanted,
                            std::string_view member) {
    const auto where = [&](const char* name) {
        return fmt::format("{}.thresholds.{}", member, name);
    };
    TM_ASSIGN(space.reservation_limit,
              fraction_of(wanted.reservation_limit, space.capacity, where("reservation_limit")));
    TM_ASSIGN(space.spill_start,
              fraction_of(wanted.spill_start, space.capacity, where("spill_start")));
    TM_ASSIGN(space.spill_stop,
              fraction_of(wanted.spill_stop, space.capacity, where("spill_stop")));
    const Thresholds bytes = space.thresholds();
    if (bytes.spill_stop > bytes.spill_start)
        return refuse(fmt::format("{} bytes of {} are above spill_start, {}", bytes.spill_stop,
                                  to_text(space.id), bytes.spill_start),
                      where("spill_stop"));
    return {};
}

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
Result<std::vector<FoundGpu>> choose_gpus(const WantedGpus& wanted, const FoundMachine& found) {
    std::vector<FoundGpu> chosen = found.gpus;
    if (wanted.count && !wanted.ids.empty())
        return refuse("both a count and ids are given", "gpus.count", "give one of them");
    if (wanted.count && (*wanted.count == 0 || *wanted.count > chosen.size()))
        return refuse(fmt::format("{} of {} GPUs", *wanted.count, chosen.size()), "gpus.count");
    std::sort(chosen.begin(), chosen.end(),
              [](const FoundGpu& a, const FoundGpu& b) { return a.id < b.id; });
    if (wanted.count)
        chosen.resize(*wanted.count);
    if (!wanted.ids.empty()) {
        chosen.clear();
        for (const std::int32_t id : wanted.ids) {
            const FoundGpu* gpu = find_id(found.gpus, id);
            if (gpu == nullptr)
                return refuse(fmt::format("there is no GPU {}", id), "gpus.ids");
            if (find_id(chosen, id) != nullptr)
                return refuse(fmt::format("GPU {} is there twice", id), "gpus.ids");
            chosen.push_back(*gpu);
        }
        std::sort(chosen.begin(), chosen.end(),
                  [](const FoundGpu& a, const FoundGpu& b) { return a.id < b.id; });
    }
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

// A host space to be, and the memory it could have.
struct HostMemory {
    std::int32_t id = 0;
    Bytes memory = 0;
};

std::vector<HostMemory> host_memories(const WantedHosts& wanted, const std::vector<FoundGpu>& gpus,
                                      const FoundMachine& found) {
    std::vector<HostMemory> hosts;
    const auto gpus_on = [&](std::int32_t node) {
        return static_cast<Bytes>(std::count_if(
            gpus.begin(), gpus.end(), [node](const FoundGpu& gpu) { return gpu.node == node; }));
    };
    if (wanted.spaces == WantedHosts::Spaces::per_gpu && !gpus.empty()) {
        for (const FoundGpu& gpu : gpus)
            hosts.push_back({gpu.id, find_id(found.nodes, gpu.node)->memory / gpus_on(gpu.node)});
        return hosts;
    }
    for (const FoundNode& node : found.nodes) {
        if (gpus.empty() || gpus_on(node.id) > 0)
            hosts.push_back({node.id, node.memory});
    }
    std::sort(hosts.begin(), hosts.end(),
              [](const HostMemory& a, const HostMemory& b) { return a.id < b.id; });
    return hosts;
}

Result<Bytes> host_capacity(const WantedHosts& wanted, const std::vector<HostMemory>& hosts,
                            const HostMemory& host) {
    if (!wanted.total)
        return bytes_of(wanted.each.value_or(Fraction{0.5}), host.memory, "hosts.each");
    Bytes all = 0;
    for (const HostMemory& each : hosts)
        all += each.memory;
    TM_ASSIGN(const Bytes total, bytes_of(*wanted.total, all, "hosts.total"));
    const Bytes share = total / hosts.size();
    if (share == 0 || share > host.memory)
        return refuse(fmt::format("a share of {} bytes for host:{}, which could have {}", share,
                                  host.id, format_bytes(host.memory)),
                      "hosts.total");
    return share;
}

Result<SpaceSpec> host_space(const WantedHosts& wanted, const std::vector<HostMemory>& hosts,
                             const HostMemory& host) {
    SpaceSpec space{.id = {Tier::host, host.id}};
    TM_ASSIGN(space.capacity, host_capacity(wanted, hosts, host));
    TM_TRY(set_thresholds(space, wanted.thresholds, "hosts"));
    if (wanted.block < 4_KiB || !is_power_of_two(wanted.block) || wanted.block > space.capacity)
        return refuse(fmt::format("{} bytes; expected a power of two from 4 KiB to the capacity",
                                  wanted.block),
                      "hosts.block");
    if (wanted.blocks_per_pool == 0)
        return refuse("expected at least 1", "hosts.blocks_per_pool");
    space.granularity = wanted.block;
    space.block = wanted.block;
    space.blocks_per_pool = wanted.blocks_per_pool;
    const Bytes fitting = space.capacity / wanted.block / wanted.blocks_per_pool;
    if (wanted.initial_pools.value_or(0) > fitting)
        return refuse(fmt::format("{} pools of {} blocks are more than {}, its capacity",
                                  *wanted.initial_pools, wanted.blocks_per_pool,
                                  format_bytes(space.capacity)),
                      "hosts.initial_pools");
    space.initial_pools = wanted.initial_pools.value_or(
        static_cast<std::uint32_t>(std::min<Bytes>(kInitialPools, fitting)));
    return space;
}

Result<void> add_gpus(const WantedGpus& wanted, const std::vector<FoundGpu>& gpus,
                      MachineSpec& machine) {
    for (const FoundGpu& gpu : gpus) {
        SpaceSpec space{.id = {Tier::gpu, gpu.id}, .granularity = kGpuGranularity};
        TM_ASSIGN(space.capacity, bytes_of(wanted.capacity, gpu.memory, "gpus.capacity"));
        TM_TRY(set_thresholds(space, wanted.thresholds, "gpus"));
        machine.spaces.push_back(std::move(space));
    }
    return {};
}

Result<void> add_hosts(const WantedHosts& wanted, const std::vector<HostMemory>& hosts,
                       MachineSpec& machine) {
    if (wanted.each && wanted.total)
        return refuse("both a capacity for each and one for all are given", "hosts.total",
                      "give one of them");
    for (const HostMemory& host : hosts) {
        TM_ASSIGN(SpaceSpec space, host_space(wanted, hosts, host));
        machine.spaces.push_back(std::move(space));
    }
    return {};
}

Result<void> add_disks(const WantedDisks& wanted, const std::vector<FoundDisk>& disks,
                       MachineSpec& machine) {
    for (std::size_t i = 0; i < disks.size(); ++i) {
        SpaceSpec space{.id = {Tier::disk, static_cast<std::int32_t>(i)},
                        .granularity = kDiskGranularity,
                        .directories = disks[i].directories};
        TM_ASSIGN(space.capacity, bytes_of(wanted.capacity, disks[i].capacity, "disks.capacity"));
        TM_TRY(set_thresholds(space, wanted.thresholds, "disks"));
        machine.spaces.push_back(std::move(space));
    }
    return {};
}

// A link there, if there is a way.
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

void link_gpu(MachineSpec& machine, const FoundGpu& gpu, const std::vector<HostMemory>& hosts) {
    const SpaceId id{Tier::gpu, gpu.id};
    const bool both = gpu.both > 0;
    const bool shared = hosts.size() > 1 && !both;
    const std::string one = both ? fmt::format("gpu{}-host", gpu.id) : "";
    const std::string out = shared ? fmt::format("gpu{}-to-host", gpu.id) : one;
    const std::string in = shared ? fmt::format("gpu{}-from-host", gpu.id) : one;
    for (const HostMemory& host : hosts) {
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
               const std::vector<HostMemory>& hosts) {
    const SpaceId id{Tier::disk, static_cast<std::int32_t>(number)};
    const std::string bus = fmt::format("disk{}", number);
    for (const HostMemory& host : hosts) {
        add_link(machine, {Tier::host, host.id}, id, disk.write, bus);
        add_link(machine, id, {Tier::host, host.id}, disk.read, bus);
    }
    const double both = disk.both > 0
                            ? disk.both
                            : std::max(disk.write.bytes_per_second, disk.read.bytes_per_second);
    if (both > 0)
        machine.buses.push_back({bus, both});
}

void add_links(const WantedHosts& wanted, const std::vector<FoundGpu>& gpus,
               const std::vector<HostMemory>& hosts, const FoundMachine& found,
               MachineSpec& machine) {
    for (const FoundGpu& gpu : gpus) {
        if (wanted.spaces == WantedHosts::Spaces::per_gpu)
            link_gpu(machine, gpu, {{gpu.id, 0}});
        else
            link_gpu(machine, gpu, hosts);
    }
    for (const FoundPeer& peer : found.peers) {
        if (find_id(gpus, peer.source) != nullptr && find_id(gpus, peer.target) != nullptr)
            add_link(machine, {Tier::gpu, peer.source}, {Tier::gpu, peer.target}, peer.link);
    }
    for (const FoundPeer& pair : found.node_links) {
        if (wanted.spaces == WantedHosts::Spaces::per_node && pair.source != pair.target &&
            find_id(hosts, pair.source) != nullptr && find_id(hosts, pair.target) != nullptr)
            add_link(machine, {Tier::host, pair.source}, {Tier::host, pair.target}, pair.link);
    }
    for (std::size_t i = 0; i < found.disks.size(); ++i)
        link_disk(machine, i, found.disks[i], hosts);
}

}  // namespace

Result<MachineSpec> build_machine(const WantedMachine& wanted, const FoundMachine& found) {
    TM_TRY(check_found(found));
    TM_ASSIGN(const std::vector<FoundGpu> gpus, choose_gpus(wanted.gpus, found));
    const std::vector<HostMemory> hosts = host_memories(wanted.hosts, gpus, found);
    MachineSpec machine;
    machine.name = wanted.name.empty() ? found.name : wanted.name;
    TM_TRY(add_gpus(wanted.gpus, gpus, machine));
    TM_TRY(add_hosts(wanted.hosts, hosts, machine));
    TM_TRY(add_disks(wanted.disks, found.disks, machine));
    add_links(wanted.hosts, gpus, hosts, found, machine);
    TM_TRY(machine.validate());
    return machine;
}

}  // namespace tidemark
