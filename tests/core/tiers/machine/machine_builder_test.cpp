// Building machines: what is chosen and linked, and what is refused.
#include "core/tiers/machine/machine_builder.h"

#include <catch2/catch.hpp>

using namespace tidemark;
using namespace tidemark::literals;

namespace {

constexpr FoundLink kPcie{25e9, 10'000};
constexpr FoundLink kNvlink{250e9, 3000};

// Four GPUs of 80 GiB, two on each of two nodes with 512 GiB.
FoundMachine big_computer() {
    FoundMachine found{.name = "big"};
    for (std::int32_t i = 0; i < 4; ++i)
        found.gpus.push_back(
            {.id = i, .memory = 80_GiB, .node = i / 2, .to_host = kPcie, .from_host = kPcie});
    found.peers = {{0, 1, kNvlink}, {1, 0, kNvlink}, {2, 3, kNvlink}, {3, 2, kNvlink}};
    found.nodes = {{0, 512_GiB}, {1, 512_GiB}};
    found.disks = {{.capacity = 2000_GiB,
                    .directories = {"/scratch"},
                    .write = {5e9, 20'000},
                    .read = {7e9, 80'000}}};
    return found;
}

FoundMachine small_computer() {
    return {.name = "small",
            .gpus = {{.id = 0, .memory = 80_GiB, .node = 0, .to_host = kPcie, .from_host = kPcie}},
            .nodes = {{0, 64_GiB}}};
}

using Ids = std::vector<std::int32_t>;

MachineSpec must_build(const FoundMachine& found, const Ids& gpus = {}) {
    const Result<MachineSpec> machine = build_machine(found, gpus);
    if (!machine)
        FAIL(to_text(machine.error()));
    CHECK(machine->validate());
    return *machine;
}

std::string ids_of(const MachineSpec& machine) {
    std::string ids;
    for (const SpaceSpec& space : machine.spaces)
        ids += (ids.empty() ? "" : " ") + to_text(space.id);
    return ids;
}

}  // namespace

TEST_CASE("What was measured of links at once makes their bus", "[tiers][machine][builder]") {
    FoundMachine found = small_computer();
    found.gpus[0].to_host.overhead = 700;
    CHECK(must_build(found).buses.empty());
    found.gpus[0].both = 40e9;
    found.disks = {{.capacity = 1_GiB, .write = {5e9, 1}, .read = {7e9, 1}, .both = 9e9}};

    const MachineSpec machine = must_build(found);

    REQUIRE(machine.links.size() == 4);
    CHECK(machine.links[0].overhead == 700);
    CHECK(machine.links[0].bus == "gpu0-host");
    CHECK(machine.links[1].overhead == 0);
    CHECK(machine.links[1].bus == "gpu0-host");
    REQUIRE(machine.buses.size() == 2);
    CHECK(machine.buses[0].bytes_per_second == 40e9);
    CHECK(machine.buses[1].bytes_per_second == 9e9);

    // With several nodes the links to all of them are on it.
    FoundMachine big = big_computer();
    big.gpus.resize(3);
    big.gpus[0].both = 40e9;
    const MachineSpec several = must_build(big);
    CHECK(several.link({Tier::gpu, 0}, {Tier::host, 1})->bus == "gpu0-host");
    CHECK(several.link({Tier::host, 0}, {Tier::gpu, 0})->bus == "gpu0-host");
    CHECK(several.link({Tier::gpu, 1}, {Tier::host, 1})->bus == "gpu1-to-host");
}

TEST_CASE("Nodes that are linked are spaces that are", "[tiers][machine][builder]") {
    FoundMachine found = big_computer();
    found.node_links = {{0, 1, {20e9}}, {1, 0, {18e9}}, {0, 5, {1e9}}, {1, 1, {1e9}}};

    const MachineSpec machine = must_build(found);
    REQUIRE(machine.link({Tier::host, 0}, {Tier::host, 1}) != nullptr);
    CHECK(machine.link({Tier::host, 0}, {Tier::host, 1})->bytes_per_second == 20e9);
    CHECK(machine.link({Tier::host, 1}, {Tier::host, 0})->bytes_per_second == 18e9);
    CHECK(must_build(found, {0}).spaces.size() == 3);  // its node alone is a space
}

TEST_CASE("A machine has all GPUs, their nodes and the disks", "[tiers][machine][builder]") {
    const MachineSpec machine = must_build(big_computer());

    CHECK(machine.name == "big");
    CHECK(ids_of(machine) == "gpu:0 gpu:1 gpu:2 gpu:3 host:0 host:1 disk:0");
    CHECK(machine.spaces[0].capacity == 80_GiB);
    CHECK(machine.spaces[4].capacity == 256_GiB);
    CHECK(machine.spaces[6].capacity == 2000_GiB);
    CHECK(machine.spaces[6].directories == std::vector<std::string>{"/scratch"});
    for (const SpaceSpec& space : machine.spaces) {
        CHECK(space.thresholds().limit == space.capacity);
        CHECK(space.spill_start == 1);
        CHECK(space.spill_stop == 1);
    }
}

TEST_CASE("GPUs are chosen by id, and hosts are the nodes they are on",
          "[tiers][machine][builder]") {
    CHECK(ids_of(must_build(big_computer(), {0, 1, 2})) ==
          "gpu:0 gpu:1 gpu:2 host:0 host:1 disk:0");
    CHECK(ids_of(must_build(big_computer(), {3, 2})) == "gpu:2 gpu:3 host:1 disk:0");
    for (const Ids& ids : {Ids{4}, Ids{-1}, Ids{1, 1}}) {
        const Result<MachineSpec> machine = build_machine(big_computer(), ids);
        REQUIRE_FALSE(machine);
        CHECK(machine.error().code == ErrorCode::bad_option);
    }
}

TEST_CASE("Ways that links share are buses", "[tiers][machine][builder]") {
    const MachineSpec big = must_build(big_computer());
    const SpaceId gpu0{Tier::gpu, 0};
    REQUIRE(big.link(gpu0, {Tier::host, 0}) != nullptr);
    REQUIRE(big.link(gpu0, {Tier::host, 1}) != nullptr);
    CHECK(big.link(gpu0, {Tier::host, 0})->bus == "gpu0-to-host");
    CHECK(big.link(gpu0, {Tier::host, 1})->bus == "gpu0-to-host");
    CHECK(big.link({Tier::host, 1}, gpu0)->bus == "gpu0-from-host");
    CHECK(big.link({Tier::host, 1}, {Tier::disk, 0})->bus == "disk0");
    CHECK(big.link({Tier::host, 1}, {Tier::disk, 0})->bytes_per_second == 5e9);
    CHECK(big.link({Tier::disk, 0}, {Tier::host, 0})->bytes_per_second == 7e9);
    CHECK(big.link({Tier::disk, 0}, {Tier::host, 0})->latency == 80'000);
    CHECK(big.link(gpu0, {Tier::gpu, 1})->bytes_per_second == 250e9);
    CHECK(big.link(gpu0, {Tier::gpu, 2}) == nullptr);
    CHECK(big.link(gpu0, {Tier::disk, 0}) == nullptr);

    const MachineSpec small = must_build(small_computer());
    CHECK(small.link(gpu0, {Tier::host, 0})->bus.empty());
    CHECK(small.link(gpu0, {Tier::host, 0})->bytes_per_second == 25e9);
    CHECK(small.buses.empty());
}

TEST_CASE("Pinned blocks begin with four pools, or as many as fit", "[tiers][machine][builder]") {
    const auto pools = [](Bytes memory) {
        FoundMachine found = small_computer();
        found.nodes[0].memory = memory;
        return must_build(found).space({Tier::host, 0})->initial_pools;
    };

    CHECK(pools(8_GiB) == 4);
    CHECK(pools(600_MiB) == 2);
    CHECK(pools(200_MiB) == 0);
}

TEST_CASE("A computer without GPUs has its nodes", "[tiers][machine][builder]") {
    FoundMachine found = big_computer();
    found.gpus.clear();
    found.peers.clear();

    CHECK(ids_of(must_build(found)) == "host:0 host:1 disk:0");
}

TEST_CASE("A GPU that does not tell its node is on the first", "[tiers][machine][builder]") {
    FoundMachine found = small_computer();
    found.gpus[0].node = -1;

    CHECK(ids_of(must_build(found)) == "gpu:0 host:0");
}

TEST_CASE("A computer that contradicts itself is refused", "[tiers][machine][builder]") {
    const auto contradicts = [](auto change) {
        FoundMachine found = big_computer();
        change(found);
        const Result<MachineSpec> machine = build_machine(found);
        return !machine && machine.error().code == ErrorCode::bad_input;
    };

    CHECK(contradicts([](FoundMachine& f) { f.nodes.clear(); }));
    CHECK(contradicts([](FoundMachine& f) { f.gpus[1].id = 0; }));
    CHECK(contradicts([](FoundMachine& f) { f.nodes[1].id = 0; }));
    CHECK(contradicts([](FoundMachine& f) { f.gpus[1].node = 7; }));
}
