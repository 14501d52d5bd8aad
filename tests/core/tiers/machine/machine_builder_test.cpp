// Building machines: what is chosen, divided and linked, and which wishes are refused.
#include "core/tiers/machine/machine_builder.h"

#include <cmath>

#include <catch2/catch.hpp>
#include <fmt/format.h>

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

MachineSpec must_build(const WantedMachine& wanted, const FoundMachine& found) {
    const Result<MachineSpec> machine = build_machine(wanted, found);
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

// Where a wish is refused; empty if it is not.
std::string refused(const WantedMachine& wanted, const FoundMachine& found = big_computer()) {
    const Result<MachineSpec> machine = build_machine(wanted, found);
    if (machine)
        return {};
    CHECK(machine.error().code == ErrorCode::bad_option);
    return machine.error().where;
}

}  // namespace

TEST_CASE("What was measured of links at once makes their bus", "[tiers][machine][builder]") {
    FoundMachine found = small_computer();
    found.gpus[0].to_host.overhead = 700;
    CHECK(must_build({}, found).buses.empty());
    found.gpus[0].both = 40e9;
    found.disks = {{.capacity = 1_GiB, .write = {5e9, 1}, .read = {7e9, 1}, .both = 9e9}};

    const MachineSpec machine = must_build({}, found);

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
    const MachineSpec several = must_build({}, big);
    CHECK(several.link({Tier::gpu, 0}, {Tier::host, 1})->bus == "gpu0-host");
    CHECK(several.link({Tier::host, 0}, {Tier::gpu, 0})->bus == "gpu0-host");
    CHECK(several.link({Tier::gpu, 1}, {Tier::host, 1})->bus == "gpu1-to-host");
}

TEST_CASE("Nodes that are linked are spaces that are", "[tiers][machine][builder]") {
    FoundMachine found = big_computer();
    found.node_links = {{0, 1, {20e9}}, {1, 0, {18e9}}, {0, 5, {1e9}}, {1, 1, {1e9}}};

    const MachineSpec machine = must_build({}, found);
    REQUIRE(machine.link({Tier::host, 0}, {Tier::host, 1}) != nullptr);
    CHECK(machine.link({Tier::host, 0}, {Tier::host, 1})->bytes_per_second == 20e9);
    CHECK(machine.link({Tier::host, 1}, {Tier::host, 0})->bytes_per_second == 18e9);

    WantedMachine wanted;
    wanted.gpus.ids = {0};  // whose node alone is a space
    CHECK(must_build(wanted, found).spaces.size() == 3);
    wanted = {};
    wanted.hosts.spaces = WantedHosts::Spaces::per_gpu;  // spaces are no nodes
    CHECK(must_build(wanted, found).link({Tier::host, 0}, {Tier::host, 1}) == nullptr);
}

TEST_CASE("Without wishes a machine has all GPUs, their nodes and the disks",
          "[tiers][machine][builder]") {
    const MachineSpec machine = must_build({}, big_computer());

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

TEST_CASE("Spaces hold what the tests of cuCascade expect (A-T1)", "[tiers][machine][builder]") {
    const WantedThresholds three_quarters{.reservation_limit = Fraction{0.75}};
    const MachineSpec machine =
        must_build({.gpus = {.capacity = 2_GiB, .thresholds = three_quarters},
                    .hosts = {.spaces = WantedHosts::Spaces::per_gpu,
                              .each = 4_GiB,
                              .thresholds = three_quarters}},
                   small_computer());

    const SpaceSpec* gpu = machine.space({Tier::gpu, 0});
    const SpaceSpec* host = machine.space({Tier::host, 0});
    REQUIRE(gpu != nullptr);
    REQUIRE(host != nullptr);
    CHECK(gpu->capacity == 2_GiB);
    CHECK(gpu->thresholds().limit == 1536_MiB);
    CHECK(host->capacity == 4_GiB);
    CHECK(host->thresholds().limit == 3_GiB);
    CHECK(machine.space({Tier::gpu, 1}) == nullptr);
    CHECK(machine.space({Tier::host, 1}) == nullptr);
}

TEST_CASE("A limit in bytes is that many bytes, however much the card has (A1.13)",
          "[tiers][machine][builder]") {
    const MachineSpec machine =
        must_build({.gpus = {.capacity = 8_GiB,
                             .thresholds = {.reservation_limit = 6_GiB,
                                            .spill_start = Bytes{5'000'000'001},
                                            .spill_stop = Bytes{4'999'999'999}}}},
                   small_computer());

    CHECK(machine.spaces[0].thresholds().limit == 6_GiB);
    CHECK(machine.spaces[0].thresholds().spill_start == Bytes{5'000'000'001});
    CHECK(machine.spaces[0].thresholds().spill_stop == Bytes{4'999'999'999});
}

TEST_CASE("A fraction is of the physical memory for capacities, of the capacity for thresholds",
          "[tiers][machine][builder]") {
    const MachineSpec machine =
        must_build({.gpus = {.capacity = Fraction{0.5},
                             .thresholds = {.reservation_limit = Fraction{0.85},
                                            .spill_start = Fraction{0.85},
                                            .spill_stop = Fraction{0.65}}},
                    .disks = {.capacity = Fraction{0.1}}},
                   big_computer());

    CHECK(machine.spaces[0].capacity == 40_GiB);
    CHECK(machine.spaces[0].thresholds().limit == 34_GiB);
    CHECK(machine.spaces[0].thresholds().spill_start == 34_GiB);
    CHECK(machine.spaces[0].thresholds().spill_stop == 26_GiB);
    CHECK(machine.spaces[6].capacity == 200_GiB);
}

TEST_CASE("GPUs are chosen by count or by id, and hosts are the nodes they are on",
          "[tiers][machine][builder]") {
    CHECK(ids_of(must_build({.gpus = {.count = 2}}, big_computer())) ==
          "gpu:0 gpu:1 host:0 disk:0");
    CHECK(ids_of(must_build({.gpus = {.count = 3}}, big_computer())) ==
          "gpu:0 gpu:1 gpu:2 host:0 host:1 disk:0");
    CHECK(ids_of(must_build({.gpus = {.ids = {3, 2}}}, big_computer())) ==
          "gpu:2 gpu:3 host:1 disk:0");
    CHECK(ids_of(must_build(
              {.gpus = {.ids = {3, 0}}, .hosts = {.spaces = WantedHosts::Spaces::per_gpu}},
              big_computer())) == "gpu:0 gpu:3 host:0 host:3 disk:0");
}

TEST_CASE("A capacity for all hosts is divided, one for each is not", "[tiers][machine][builder]") {
    const auto capacity = [](const WantedHosts& hosts) {
        const MachineSpec machine = must_build({.hosts = hosts}, big_computer());
        const SpaceSpec* first = machine.space({Tier::host, 0});
        for (const SpaceSpec& space : machine.spaces) {
            if (space.id.tier == Tier::host)
                CHECK(space.capacity == first->capacity);
        }
        return first->capacity;
    };
    constexpr auto kPerGpu = WantedHosts::Spaces::per_gpu;

    CHECK(capacity({.each = 4_GiB}) == 4_GiB);
    CHECK(capacity({.total = 4_GiB}) == 2_GiB);
    CHECK(capacity({.total = 4_GiB + 1}) == 2_GiB);
    CHECK(capacity({.spaces = kPerGpu, .each = 4_GiB}) == 4_GiB);
    CHECK(capacity({.spaces = kPerGpu, .total = 4_GiB}) == 1_GiB);
    CHECK(capacity({.each = Fraction{0.25}}) == 128_GiB);
    CHECK(capacity({.total = Fraction{0.25}}) == 128_GiB);
    CHECK(capacity({.spaces = kPerGpu, .each = Fraction{0.25}}) == 64_GiB);
}

TEST_CASE("Ways that links share are buses", "[tiers][machine][builder]") {
    const MachineSpec big = must_build({}, big_computer());
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

    const MachineSpec small = must_build({}, small_computer());
    CHECK(small.link(gpu0, {Tier::host, 0})->bus.empty());
    CHECK(small.link(gpu0, {Tier::host, 0})->bytes_per_second == 25e9);
    CHECK(small.buses.empty());
}

TEST_CASE("A GPU copies through the host space of its own number, if each has one",
          "[tiers][machine][builder]") {
    const MachineSpec machine =
        must_build({.hosts = {.spaces = WantedHosts::Spaces::per_gpu}}, big_computer());

    CHECK(machine.link({Tier::gpu, 3}, {Tier::host, 3}) != nullptr);
    CHECK(machine.link({Tier::gpu, 3}, {Tier::host, 2}) == nullptr);
}

TEST_CASE("Pinned blocks begin with four pools, or as many as fit", "[tiers][machine][builder]") {
    const auto pools = [](const WantedHosts& hosts) {
        return must_build({.hosts = hosts}, small_computer()).space({Tier::host, 0})->initial_pools;
    };

    CHECK(pools({.each = 4_GiB}) == 4);
    CHECK(pools({.each = 300_MiB}) == 2);
    CHECK(pools({.each = 100_MiB}) == 0);
    CHECK(pools({.each = 1_GiB, .block = 64_KiB, .blocks_per_pool = 16, .initial_pools = 1}) == 1);
    CHECK(must_build({.hosts = {.block = 64_KiB}}, small_computer()).spaces[1].granularity ==
          64_KiB);
}

TEST_CASE("A computer without GPUs has its nodes", "[tiers][machine][builder]") {
    FoundMachine found = big_computer();
    found.gpus.clear();
    found.peers.clear();

    CHECK(ids_of(must_build({}, found)) == "host:0 host:1 disk:0");
    CHECK(ids_of(must_build({.hosts = {.spaces = WantedHosts::Spaces::per_gpu}}, found)) ==
          "host:0 host:1 disk:0");
}

TEST_CASE("A GPU that does not tell its node is on the first", "[tiers][machine][builder]") {
    FoundMachine found = small_computer();
    found.gpus[0].node = -1;

    CHECK(ids_of(must_build({}, found)) == "gpu:0 host:0");
}

TEST_CASE("Wishes that cannot be are refused by name", "[tiers][machine][builder]") {
    CHECK(refused({.gpus = {.count = 0}}) == "gpus.count");
    CHECK(refused({.gpus = {.count = 5}}) == "gpus.count");
    CHECK(refused({.gpus = {.count = 1, .ids = {0}}}) == "gpus.count");
    CHECK(refused({.gpus = {.ids = {4}}}) == "gpus.ids");
    CHECK(refused({.gpus = {.ids = {-1}}}) == "gpus.ids");
    CHECK(refused({.gpus = {.ids = {1, 1}}}) == "gpus.ids");
    CHECK(refused({.gpus = {.capacity = Bytes{0}}}) == "gpus.capacity");
    CHECK(refused({.gpus = {.capacity = 80_GiB + 1}}) == "gpus.capacity");
    for (const double fraction : {0.0, -1.0, 1.1, std::nan(""), 1e-30}) {
        INFO(fraction);
        CHECK(refused({.gpus = {.capacity = Fraction{fraction}}}) == "gpus.capacity");
        CHECK(refused({.hosts = {.thresholds = {.spill_start = Fraction{fraction}}}}) ==
              "hosts.thresholds.spill_start");
    }
    // Within the card, and beyond what is configured of it.
    CHECK(refused({.gpus = {.capacity = 8_GiB, .thresholds = {.reservation_limit = 9_GiB}}}) ==
          "gpus.thresholds.reservation_limit");
    CHECK(refused({.gpus = {.thresholds = {.spill_start = Fraction{0.65},
                                           .spill_stop = Fraction{0.85}}}}) ==
          "gpus.thresholds.spill_stop");
    CHECK(refused({.hosts = {.each = 1_GiB, .total = 1_GiB}}) == "hosts.total");
    CHECK(refused({.hosts = {.each = 513_GiB}}) == "hosts.each");
    CHECK(refused({.hosts = {.total = 1025_GiB}}) == "hosts.total");
    CHECK(refused({.hosts = {.total = Bytes{1}}}) == "hosts.total");
    CHECK(refused({.hosts = {.block = 5000}}) == "hosts.block");
    CHECK(refused({.hosts = {.block = 2_KiB}}) == "hosts.block");
    CHECK(refused({.hosts = {.each = 1_MiB, .block = 2_MiB}}) == "hosts.block");
    CHECK(refused({.hosts = {.blocks_per_pool = 0}}) == "hosts.blocks_per_pool");
    CHECK(refused({.hosts = {.each = 100_MiB, .initial_pools = 1}}) == "hosts.initial_pools");
    CHECK(refused({.disks = {.capacity = 3000_GiB}}) == "disks.capacity");
}

TEST_CASE("A share of the host's memory that a node does not have is refused",
          "[tiers][machine][builder]") {
    FoundMachine found = big_computer();
    found.nodes[1].memory = 100_GiB;

    CHECK(refused({.hosts = {.total = 400_GiB}}, found) == "hosts.total");
    CHECK(refused({.hosts = {.total = 200_GiB}}, found).empty());
}

TEST_CASE("A computer that contradicts itself is refused", "[tiers][machine][builder]") {
    const auto contradicts = [](auto change) {
        FoundMachine found = big_computer();
        change(found);
        const Result<MachineSpec> machine = build_machine({}, found);
        return !machine && machine.error().code == ErrorCode::bad_input;
    };

    CHECK(contradicts([](FoundMachine& f) { f.nodes.clear(); }));
    CHECK(contradicts([](FoundMachine& f) { f.gpus[1].id = 0; }));
    CHECK(contradicts([](FoundMachine& f) { f.nodes[1].id = 0; }));
    CHECK(contradicts([](FoundMachine& f) { f.gpus[1].node = 7; }));
}
