// Machines as JSON: what is read, what is written, and where faults are said to be.
#include "backends/machines/machine_json.h"

#include <cstdlib>
#include <fstream>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/sim/costs.h"
#include "core/base/random.h"
#include "tests/support/fake_root.h"

using namespace tidemark;
using namespace tidemark::literals;

namespace {

using Json = nlohmann::ordered_json;

Json small_json() {
    return Json::parse(R"({
        "format": "tidemark-machine", "version": 1, "name": "my-node",
        "spaces": [
            {"id": "gpu:0", "capacity": "8GiB", "reservation_limit": "6GiB"},
            {"id": "host:0", "capacity": 34359738368, "spill_start": "85%", "spill_stop": 0.65,
             "block": "64KiB", "blocks_per_pool": 16, "initial_pools": 1},
            {"id": "disk:0", "capacity": "1TB", "directories": ["/scratch/a", "/scratch/b"]}],
        "links": [
            {"source": "gpu:0", "target": "host:0", "bytes_per_second": "55.4GB/s",
             "overhead": 700, "latency": 6000, "bus": "pcie"},
            {"source": "host:0", "target": "gpu:0", "bytes_per_second": 5.5e10}],
        "buses": [{"name": "pcie", "bytes_per_second": "60GB/s"}],
        "derived": {"z": "first", "a": "second"}
    })");
}

Error fault_of(const Json& json) {
    const Result<DescribedMachine> machine = parse_machine(json.dump(), "my-node.json");
    REQUIRE_FALSE(machine);
    CHECK(machine.error().code == ErrorCode::bad_input);
    return machine.error();
}

// Where the fault is after `value` is put at `pointer`.
std::string fault_at(const std::string& pointer, const Json& value) {
    Json json = small_json();
    json[Json::json_pointer(pointer)] = value;
    return fault_of(json).where;
}

std::string location(const std::string& pointer) {
    return "my-node.json: " + pointer;
}

}  // namespace

TEST_CASE("A machine is read with sizes and bandwidths as numbers or words",
          "[tiers][machine][json]") {
    const Result<DescribedMachine> described = parse_machine(small_json().dump(), "my-node.json");

    REQUIRE(described);
    const MachineSpec& machine = described->machine;
    CHECK(machine.name == "my-node");
    REQUIRE(machine.spaces.size() == 3);
    CHECK(machine.spaces[0].capacity == 8_GiB);
    CHECK(machine.spaces[0].granularity == 1);
    CHECK(machine.spaces[1].capacity == 32_GiB);
    CHECK(machine.spaces[1].block == 64_KiB);
    CHECK(machine.spaces[1].blocks_per_pool == 16);
    CHECK(machine.spaces[1].initial_pools == 1);
    CHECK(machine.spaces[2].capacity == 1'000'000'000'000);
    CHECK(machine.spaces[2].directories == std::vector<std::string>{"/scratch/a", "/scratch/b"});
    REQUIRE(machine.links.size() == 2);
    CHECK(machine.links[0].bytes_per_second == 55.4e9);
    CHECK(machine.links[0].overhead == 700);
    CHECK(machine.links[0].latency == 6000);
    CHECK(machine.links[0].bus == "pcie");
    CHECK(machine.links[1].bytes_per_second == 55e9);
    CHECK(machine.buses[0].bytes_per_second == 60e9);
    CHECK(described->derived ==
          std::vector<std::pair<std::string, std::string>>{{"z", "first"}, {"a", "second"}});
}

TEST_CASE("A threshold is a fraction, a percentage or bytes, and exact in each",
          "[tiers][machine][json]") {
    const auto limit = [](const Json& value, const Json& capacity) {
        Json json = small_json();
        json["spaces"][0]["capacity"] = capacity;
        json["spaces"][0]["reservation_limit"] = value;
        const Result<DescribedMachine> described = parse_machine(json.dump(), "x");
        REQUIRE(described);
        return described->machine.spaces[0].thresholds().limit;
    };

    // 6 GiB of a configured 8 GiB is 6 GiB, however much the card has (A1.13).
    CHECK(limit("6GiB", "8GiB") == 6_GiB);
    CHECK(limit(0.29, 100) == 29);
    CHECK(limit("29%", 100) == 29);
    CHECK(limit("33.3%", 1000) == 333);
    CHECK(limit("100%", 1000) == 1000);
    CHECK(limit(1, 1000) == 1000);  // all of it
    CHECK(limit(1.0, 1000) == 1000);
    CHECK(limit("1B", 1000) == 1);
    CHECK(limit(2, 1000) == 2);
    CHECK(limit(999'999'937, 999'999'999'989) == 999'999'937);
}

TEST_CASE("What is written is read as the same machine, and written the same",
          "[tiers][machine][json]") {
    Json json = small_json();
    json["spaces"][0]["reservation_limit"] = 5'000'000'011;  // needs more than six digits
    json["spaces"][1]["spill_stop"] = "1B";
    json["name"] = "quote \" and \\ and \u00e9";
    const DescribedMachine first = parse_machine(json.dump(), "first").value();

    const std::string text = machine_text(first);
    const Result<DescribedMachine> second = parse_machine(text, "second");

    REQUIRE(second);
    CHECK(machine_text(*second) == text);
    CHECK(second->machine.spaces[0].thresholds().limit == 5'000'000'011);
    CHECK(second->machine.spaces[1].thresholds().spill_stop == 1);
    CHECK(second->machine.name == first.machine.name);
    CHECK(second->derived == first.derived);
    CHECK(machine_hash(second->machine) == machine_hash(first.machine));
}

TEST_CASE("The hash of a machine is of what it is, not of how it is written",
          "[tiers][machine][json]") {
    const MachineSpec machine = parse_machine(small_json().dump(), "a").value().machine;
    Json other = small_json();
    other["spaces"][0]["capacity"] = 8_GiB;
    other.erase("derived");
    CHECK(machine_hash(parse_machine(other.dump(4), "b").value().machine) == machine_hash(machine));

    for (const auto& [pointer, value] :
         std::vector<std::pair<std::string, Json>>{{"/name", "other"},
                                                   {"/spaces/0/capacity", "7GiB"},
                                                   {"/spaces/0/granularity", 2},
                                                   {"/spaces/1/spill_stop", 0.64},
                                                   {"/spaces/1/block", "128KiB"},
                                                   {"/spaces/2/directories/0", "/scratch/c"},
                                                   {"/links/0/bytes_per_second", "55.3GB/s"},
                                                   {"/links/0/latency", 6001},
                                                   {"/links/1/bus", "pcie"},
                                                   {"/buses/0/bytes_per_second", "61GB/s"}}) {
        INFO(pointer);
        Json changed = small_json();
        changed[Json::json_pointer(pointer)] = value;
        const Result<DescribedMachine> described = parse_machine(changed.dump(), "c");
        REQUIRE(described);
        CHECK(machine_hash(described->machine) != machine_hash(machine));
    }
}

TEST_CASE("Values of the wrong kind are told with their place", "[tiers][machine][json]") {
    for (const auto& [pointer, value] :
         std::vector<std::pair<std::string, Json>>{{"/format", "tidemark-device-profile"},
                                                   {"/version", 2},
                                                   {"/name", ""},
                                                   {"/name", 7},
                                                   {"/spaces", 7},
                                                   {"/spaces/1", 7},
                                                   {"/spaces/1/id", "cpu:0"},
                                                   {"/spaces/1/id", 0},
                                                   {"/spaces/1/capacity", "80 giraffes"},
                                                   {"/spaces/1/capacity", -1},
                                                   {"/spaces/1/capacity", 1.5},
                                                   {"/spaces/1/capacity", 0},
                                                   {"/spaces/1/granularity", 3},
                                                   {"/spaces/1/reservation_limit", 0},
                                                   {"/spaces/1/reservation_limit", 1.5},
                                                   {"/spaces/1/reservation_limit", -0.5},
                                                   {"/spaces/1/reservation_limit", "33GiB"},
                                                   {"/spaces/1/reservation_limit", 34359738369},
                                                   {"/spaces/1/reservation_limit", "lots%"},
                                                   {"/spaces/1/reservation_limit", "%"},
                                                   {"/spaces/1/reservation_limit", "101%"},
                                                   {"/spaces/1/reservation_limit", nullptr},
                                                   {"/spaces/1/spill_stop", 0.95},
                                                   {"/spaces/1/block", "1000"},
                                                   {"/spaces/1/blocks_per_pool", 0},
                                                   {"/spaces/1/initial_pools", -1},
                                                   {"/spaces/2/directories", "/scratch"},
                                                   {"/spaces/2/directories/1", 7},
                                                   {"/links", {{"a", 1}}},
                                                   {"/links/0/source", "host:1"},
                                                   {"/links/0/target", "gpu:0"},
                                                   {"/links/0/bytes_per_second", "55.4GB"},
                                                   {"/links/0/bytes_per_second", "fast/s"},
                                                   {"/links/0/bytes_per_second", true},
                                                   {"/links/0/bytes_per_second", 0},
                                                   {"/links/0/overhead", 1.5},
                                                   {"/links/0/latency", "6us"},
                                                   {"/links/0/bus", "usb"},
                                                   {"/links/0/bus", 7},
                                                   {"/buses/0/name", ""},
                                                   {"/buses/0/bytes_per_second", "0B/s"},
                                                   {"/derived", "guessed"},
                                                   {"/derived/z", 7}}) {
        INFO(pointer << " = " << value);
        CHECK(fault_at(pointer, value) == location(pointer));
    }
}

TEST_CASE("Missing members are told with their place", "[tiers][machine][json]") {
    for (const std::string pointer :
         {"/format", "/version", "/name", "/spaces", "/links", "/spaces/0/id", "/spaces/0/capacity",
          "/links/0/source", "/links/0/target", "/links/0/bytes_per_second", "/buses/0/name",
          "/buses/0/bytes_per_second"}) {
        INFO(pointer);
        Json json = small_json();
        const Json::json_pointer at(pointer);
        json[at.parent_pointer()].erase(at.back());

        const Error error = fault_of(json);

        CHECK(error.where == location(pointer));
        CHECK(error.what == "missing");
    }
}

TEST_CASE("Unknown members are told with the nearest known one", "[tiers][machine][json]") {
    const auto fault = [](const std::string& pointer) {
        Json json = small_json();
        json[Json::json_pointer(pointer)] = 1;
        const Error error = fault_of(json);
        CHECK(error.where == location(pointer));
        CHECK(error.what == "unknown member");
        return error.hint;
    };

    CHECK(fault("/spaces/0/capacty") == "did you mean capacity");
    CHECK(fault("/link") == "did you mean links");
    CHECK(fault("/links/0/latncy") == "did you mean latency");
    CHECK(fault("/buses/0/nam") == "did you mean name");
    CHECK(fault("/links/0/duplex").find("bytes_per_second") != std::string::npos);
    // What another kind of space has, this one has not.
    CHECK(fault("/spaces/0/block").find("capacity") != std::string::npos);
    CHECK(fault("/spaces/1/directories").find("block") != std::string::npos);
}

TEST_CASE("Text that is no JSON, or says something twice, is refused", "[tiers][machine][json]") {
    const auto fault = [](std::string_view text) {
        const Result<DescribedMachine> machine = parse_machine(text, "my-node.json");
        REQUIRE_FALSE(machine);
        return to_text(machine.error());
    };

    CHECK(fault("{").find("my-node.json: not JSON: fault at byte") == 0);
    CHECK(fault("").find("my-node.json: not JSON") == 0);
    CHECK(fault(R"({"version": 1e999})") == "my-node.json: a number is out of range");
    CHECK(fault(std::string(100'000, '[')).find("my-node.json: not JSON") == 0);
    CHECK(fault("{\"name\": \"\xff\"}").find("my-node.json: not JSON") == 0);
    CHECK(fault("[]") == "my-node.json: expected an object");
    CHECK(fault(R"({"name": "a", "spaces": [], "name": "b"})") ==
          "my-node.json: 'name' is twice in one object");
}

TEST_CASE("Text that was damaged is refused or a machine that makes sense",
          "[tiers][machine][json]") {
    const std::string whole = machine_text(open_described_machine("two-gpu").value());
    Random random(7);
    constexpr std::string_view kBytes = "0123456789.-eE\"{}[],:%KMGiB/sgpuhostdisk \\\x01\xff";
    int read = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string text = whole;
        for (std::uint64_t j = 0; j <= random.below(3); ++j)
            text[random.below(text.size())] = kBytes[random.below(kBytes.size())];

        const Result<DescribedMachine> machine = parse_machine(text, "damaged");

        if (!machine) {
            CHECK(machine.error().where.starts_with("damaged"));
            continue;
        }
        ++read;
        const std::string again = machine_text(*machine);
        CHECK(machine_text(parse_machine(again, "again").value()) == again);
    }
    CHECK(read > 0);
    CHECK(read < 2000);
}

TEST_CASE("The machines that are shipped are known by name and make sense",
          "[tiers][machine][json]") {
    CHECK(machine_names() ==
          std::vector<std::string_view>{"h200-node", "pcie-workstation", "two-gpu"});
    for (const std::string_view name : machine_names()) {
        INFO(name);
        const Result<DescribedMachine> described = open_described_machine(name);
        REQUIRE(described);
        CHECK(described->machine.name == name);
        CHECK_FALSE(described->derived.empty());
        for (const SpaceSpec& space : described->machine.spaces) {
            CHECK(space.spill_start == 1);  // on demand only
            CHECK(space.spill_stop == 1);
            for (const Tier tier : {Tier::gpu, Tier::host, Tier::disk}) {
                const bool next =
                    std::abs(static_cast<int>(tier) - static_cast<int>(space.id.tier)) == 1;
                if (next && described->machine.space({tier, 0}) != nullptr)
                    CHECK(described->machine.link(space.id, {tier, 0}) != nullptr);
            }
        }
        // Shipped files are as they would be written: a diff shows what changes.
        std::ifstream file(
            fmt::format("{}/backends/machines/shipped/{}.json", TIDEMARK_SOURCE_DIR, name));
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        CHECK(machine_text(*described) == text);
    }
}

TEST_CASE("The node with an H200 copies as fast as the card was measured",
          "[tiers][machine][json]") {
    const MachineSpec machine = open_machine("h200-node").value();
    const CostProfile profile = load_profile("h200").value();
    const SpaceId gpu{Tier::gpu, 0};
    const SpaceId host{Tier::host, 0};
    CHECK(machine.space(gpu)->capacity == profile.memory);

    for (const auto& [link, transfer] : {std::pair{machine.link(gpu, host), Transfer::to_host},
                                         std::pair{machine.link(host, gpu), Transfer::to_device}}) {
        REQUIRE(link != nullptr);
        for (const CostPoint& measured :
             profile.transfers[static_cast<std::size_t>(transfer)].points()) {
            const Nanoseconds predicted = transfer_time(*link, measured.bytes) + link->latency;
            INFO(measured.bytes);
            CHECK(static_cast<double>(predicted) ==
                  Approx(static_cast<double>(measured.cost)).epsilon(0.025));
        }
    }
}

TEST_CASE("A machine is opened from a file, and an unknown name has a suggestion",
          "[tiers][machine][json]") {
    const support::FakeRoot folder;
    const std::string path = folder.path() + "/my-node.json";
    std::ofstream(path) << small_json().dump();

    CHECK(open_machine(path).value().name == "my-node");

    const Result<MachineSpec> misspelt = open_machine("h200node");
    REQUIRE_FALSE(misspelt);
    CHECK(misspelt.error().code == ErrorCode::not_found);
    CHECK(misspelt.error().hint == "did you mean h200-node");
    CHECK(open_machine("abacus").error().hint ==
          "known machines: h200-node pcie-workstation two-gpu");
    CHECK(open_machine("").error().code == ErrorCode::not_found);
    CHECK(open_machine(folder.path()).error().code == ErrorCode::io);
}

TEST_CASE("A file that is no description is refused by its size", "[tiers][machine][json]") {
    const support::FakeRoot folder;
    const std::string path = folder.path() + "/big.json";
    std::ofstream(path) << std::string(1_MiB + 1, ' ');

    const Result<MachineSpec> machine = open_machine(path);

    REQUIRE_FALSE(machine);
    CHECK(machine.error().where == path);
    CHECK(machine.error().code == ErrorCode::bad_input);
}
