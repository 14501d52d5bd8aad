// Machines from topologies that are not there.
#include "backends/machines/discovered_machine.h"

#include <filesystem>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "backends/machines/machine_json.h"
#include "tests/support/fake_root.h"
#include "tests/support/fake_topology.h"

using namespace tidemark;

namespace {

DiscoveredMachine discover(const Topology& topology, const DiscoveryQuestion& question = {}) {
    return discover_machine(topology, question).value();
}

std::string note_on(const DiscoveredMachine& machine, std::string_view what) {
    for (const auto& [name, how] : machine.notes) {
        if (name == what)
            return how;
    }
    return {};
}

}  // namespace

TEST_CASE("GPUs are found with their memory, node and an estimate of their link",
          "[tiers][machine][topology]") {
    const DiscoveredMachine machine = discover(support::full_machine());

    REQUIRE(machine.found.gpus.size() == 2);
    const FoundGpu& gpu = machine.found.gpus[1];
    CHECK(gpu.id == 1);
    CHECK(gpu.memory == 140_GiB);
    CHECK(gpu.node == 1);
    CHECK(gpu.to_host.bytes_per_second == 54.4e9);  // 85 % of 32 GT/s on 16 lanes
    CHECK(gpu.from_host.bytes_per_second == 54.4e9);
    CHECK(note_on(machine, "gpu:1 <-> host").find("estimated: 85 %") == 0);
    REQUIRE(machine.found.nodes.size() == 2);
    CHECK(machine.found.nodes[1].memory == 64_GiB);
}

TEST_CASE("Peers are linked by their NVLinks, or by PCI where there are none",
          "[tiers][machine][topology]") {
    Topology topology = support::full_machine();
    const DiscoveredMachine with = discover(topology);
    REQUIRE(with.found.peers.size() == 2);
    CHECK(with.found.peers[0].source == 0);
    CHECK(with.found.peers[0].target == 1);
    CHECK(with.found.peers[0].link.bytes_per_second == Approx(382.5e9));  // 85 % of 18 x 25 GB/s

    topology.cuda->gpus[1].nvlinks = std::nullopt;
    topology.cuda->gpus[1].card->link = {.fastest_speed_gts = 16, .max_width = 8};
    const DiscoveredMachine without = discover(topology);
    CHECK(without.found.peers[0].link.bytes_per_second == Approx(13.6e9));

    topology.cuda->gpus[0].cuda.peers = {0, 7};  // itself, and one that is hidden
    CHECK(discover(topology).found.peers.size() == 1);
}

TEST_CASE("Measured links replace estimates for cards of that product",
          "[tiers][machine][topology]") {
    const DiscoveryQuestion question{
        .measured = {{.gpu = "NVIDIA A100", .to_host = {1e9, 1}, .from_host = {1e9, 1}},
                     {.gpu = "NVIDIA H200", .to_host = {55e9, 6164}, .from_host = {56e9, 6825}}}};

    const DiscoveredMachine machine = discover(support::full_machine(), question);

    CHECK(machine.found.gpus[0].to_host.bytes_per_second == 55e9);
    CHECK(machine.found.gpus[0].from_host.bytes_per_second == 56e9);
    CHECK(machine.found.gpus[0].from_host.latency == 6825);
    CHECK(note_on(machine, "gpu:0 <-> host") == "measured on a NVIDIA H200");
}

TEST_CASE("A hidden bus and an unknown node are said to be, not guessed silently",
          "[tiers][machine][topology]") {
    Topology topology = support::full_machine();
    Gpu& gpu = topology.cuda->gpus[0];
    gpu.cuda.numa_node = -1;
    gpu.card = std::nullopt;
    topology.cuda->gpus[1].cuda.numa_node = 5;  // a node that the kernel does not show

    const DiscoveredMachine machine = discover(topology);

    CHECK(machine.found.gpus[0].node == -1);
    CHECK(machine.found.gpus[1].node == -1);
    CHECK(machine.found.gpus[0].to_host.bytes_per_second == Approx(27.2e9));
    CHECK(note_on(machine, "gpu:0 <-> host").find("assumed, the link is unknown") == 0);
    CHECK(build_machine(machine.found));
}

TEST_CASE("A node without memory is no space, and a computer without GPUs has its host",
          "[tiers][machine][topology]") {
    Topology topology = support::plain_machine();
    topology.host.nodes.push_back({1, 0, 0, 0, {4, 5}, {}});

    const DiscoveredMachine machine = discover(topology);

    CHECK(machine.found.gpus.empty());
    REQUIRE(machine.found.nodes.size() == 1);
    CHECK(build_machine(machine.found).value().spaces.front().capacity == 8_GiB);
}

TEST_CASE("A directory is a disk with the room it has, on the drive it is on",
          "[tiers][machine][topology]") {
    support::FakeRoot root;

    struct stat facts {};

    REQUIRE(stat(root.path().c_str(), &facts) == 0);
    const std::string drive =
        "/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/nvme/nvme0/nvme0n1";
    root.put(drive + "/size", "1000000");
    root.link("/sys/block/nvme0n1", drive);
    root.link(fmt::format("/sys/dev/block/{}:{}", major(facts.st_dev), minor(facts.st_dev)), drive);
    const DiscoveryQuestion question{.directories = {root.path()}, .root = root.path()};

    const DiscoveredMachine machine = discover(support::plain_machine(), question);

    REQUIRE(machine.found.disks.size() == 1);
    const FoundDisk& disk = machine.found.disks[0];
    CHECK(disk.capacity > 0);
    CHECK(disk.directories == question.directories);
    CHECK(disk.read.bytes_per_second > disk.write.bytes_per_second);
    CHECK(
        note_on(machine, "disk:0").find("on nvme0n1; bandwidth and latency assumed for an NVMe") !=
        std::string::npos);

    // Drives of guests say that they rotate; that makes them no slower.
    root.put(drive + "/queue/rotational", "1");
    CHECK(discover(support::plain_machine(), question).found.disks[0].read.bytes_per_second ==
          disk.read.bytes_per_second);

    DiscoveryQuestion unknown = question;
    unknown.root = root.path() + "/nowhere";
    CHECK(note_on(discover(support::plain_machine(), unknown), "disk:0")
              .find("on a drive unknown to the kernel") != std::string::npos);
}

TEST_CASE("A rotating drive is slower than one that does not turn", "[tiers][machine][topology]") {
    support::FakeRoot root;

    struct stat facts {};

    REQUIRE(stat(root.path().c_str(), &facts) == 0);
    const std::string drive =
        "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
    root.put(drive + "/size", "1000000");
    root.link("/sys/block/sda", drive);
    root.link(fmt::format("/sys/dev/block/{}:{}", major(facts.st_dev), minor(facts.st_dev)), drive);
    const DiscoveryQuestion question{.directories = {root.path()}, .root = root.path()};

    const DiscoveredMachine still = discover(support::plain_machine(), question);
    root.put(drive + "/queue/rotational", "1");
    const DiscoveredMachine turning = discover(support::plain_machine(), question);

    CHECK(turning.found.disks[0].read.bytes_per_second <
          still.found.disks[0].read.bytes_per_second);
    CHECK(turning.found.disks[0].read.latency > still.found.disks[0].read.latency);
}

TEST_CASE("Directories that are not there, or share a file system, are refused",
          "[tiers][machine][topology]") {
    const support::FakeRoot root;
    const auto fault = [](std::vector<std::string> directories) {
        return discover_machine(support::plain_machine(), {.directories = std::move(directories)})
            .error();
    };
    std::filesystem::create_directory(root.path() + "/below");

    CHECK(fault({root.path() + "/nowhere"}).code == ErrorCode::not_found);
    const Error twice = fault({root.path(), root.path() + "/below"});
    CHECK(twice.code == ErrorCode::bad_option);
    CHECK(twice.where == root.path() + "/below");
    CHECK(twice.what == "is on the same file system as " + root.path());
}

TEST_CASE("What is found here is a machine that can be written and read",
          "[tiers][machine][topology]") {
    const DiscoveredMachine machine =
        discover(support::full_machine(),
                 {.name = "my-node", .directories = {std::filesystem::temp_directory_path()}});
    const MachineSpec built = build_machine(machine.found).value();

    const std::string text = machine_text({built, machine.notes});
    const Result<DescribedMachine> read = parse_machine(text, "my-node.json");

    REQUIRE(read);
    CHECK(machine_text(*read) == text);
    CHECK(read->machine.spaces.size() == 5);
    CHECK(read->derived == machine.notes);
}
