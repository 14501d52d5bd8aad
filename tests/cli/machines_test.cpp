// machines: shipped ones, a file of one's own, and this computer.
#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/json_keys.h"

using namespace tidemark;
using nlohmann::json;
using support::contains;
using support::Folder;
using support::kBare;
using support::Said;
using support::Surroundings;

namespace {

// Where nothing is measured, so that a test is quick: there is no disk.
std::string memory_folder() {
    return std::filesystem::is_directory("/dev/shm") ? "/dev/shm"
                                                     : std::filesystem::temp_directory_path();
}

std::vector<std::string> measuring(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"machines", "--discover", "--measure",
                                       "--quick",  "--disk",     memory_folder()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

// A GPU so small that copies of all it has take milliseconds.
Surroundings small_gpu() {
    Surroundings surroundings = kBare;
    surroundings.environment[0].second = TIDEMARK_FAKE_CUDA;
    surroundings.environment.emplace_back("TIDEMARK_FAKE_CUDA_CONFIG", "memory=268435456");
    std::swap(surroundings.environment[1], surroundings.environment.back());
    return surroundings;
}

}  // namespace

TEST_CASE("machines lists those that are shipped", "[cli][machine]") {
    const Said said = support::tidemark({"machines"});

    CHECK(said.code == 0);
    CHECK(contains(said.out, "h200-node"));
    CHECK(contains(said.out, "gpu 140 GiB, host 2.00 TiB"));
    CHECK(contains(said.out, "2 x gpu 80.0 GiB"));
}

TEST_CASE("machines shows one with its spaces, links and where figures come from",
          "[cli][machine]") {
    const Said said = support::tidemark({"machines", "h200-node"});

    CHECK(said.code == 0);
    CHECK(contains(said.out, "gpu:0 -> host:0"));
    CHECK(contains(said.out, "55.5 GB/s"));
    CHECK(contains(said.out, "on demand"));
    CHECK(contains(said.out, "measured on an H200 with pinned memory"));
    CHECK(contains(said.out, "assumed"));
}

TEST_CASE("machines writes a copy that is read as the same machine", "[cli][machine]") {
    const Folder folder;
    const std::string file = folder / "my-node.json";

    const Said said = support::tidemark({"machines", "two-gpu", "-o", file});
    CHECK(contains(said.out, "wrote " + file));
    CHECK(support::read_file(file) ==
          support::read_file(support::project_file("backends/machines/shipped/two-gpu.json")));
    CHECK(support::tidemark({"machines", "two-gpu", "-o", "-"}).out == support::read_file(file));

    const json shipped = support::tidemark_json({"machines", "two-gpu"});
    const json copied = support::tidemark_json({"machines", file});
    CHECK(copied["machines"] == shipped["machines"]);
    CHECK(shipped["machines"][0]["hash"].get<std::string>().size() == 16);
}

TEST_CASE("machines tells where a file is wrong", "[cli][machine]") {
    const Folder folder;
    const std::string file = folder / "my-node.json";
    json machine = json::parse(
        support::read_file(support::project_file("backends/machines/shipped/h200-node.json")));
    machine["spaces"][1]["capacity"] = "2 tons";
    support::write_file(file, machine.dump());

    const Said said = support::tidemark({"machines", file});

    CHECK(said.code != 0);
    CHECK(said.out.empty());
    CHECK(contains(said.err, "my-node.json: /spaces/1/capacity: "));
}

TEST_CASE("machines suggests the nearest name", "[cli][machine]") {
    const Said said = support::tidemark({"machines", "h200-nod"});

    CHECK(said.code != 0);
    CHECK(contains(said.err, "did you mean h200-node"));
}

TEST_CASE("machines describes this computer, and reads what it wrote", "[cli][machine]") {
    const Folder folder;
    const std::string file = folder / "here.json";

    const Said said =
        support::tidemark({"machines", "--discover", "--disk", folder.path(), "-o", file}, kBare);

    CHECK(said.code == 0);
    CHECK(said.err == "");
    CHECK(contains(said.out, "here: "));
    CHECK(contains(said.out, "host:"));
    CHECK(contains(said.out, "disk:0"));
    const json here = support::tidemark_json({"machines", file})["machines"][0];
    CHECK(here["name"] == "here");
    CHECK(here["spaces"].back()["directories"][0] == folder.path());
    CHECK(here["spaces"].back()["capacity_bytes"].get<std::uint64_t>() > 0);
}

TEST_CASE("machines refuses words that contradict each other", "[cli][machine]") {
    const auto refusal = [](const std::vector<std::string>& arguments) {
        const Said said = support::tidemark(arguments, kBare);
        CHECK(said.code != 0);
        CHECK(said.out.empty());
        return said.err;
    };

    CHECK(contains(refusal({"machines", "two-gpu", "--discover"}), "--discover"));
    CHECK(contains(refusal({"machines", "two-gpu", "--disk", "/"}), "add --discover"));
    CHECK(contains(refusal({"machines", "-o", "x.json"}), "which machine?"));
    CHECK(contains(refusal({"machines", "two-gpu", "-o", "-", "--json"}), "-"));
    CHECK(contains(refusal({"machines", "--discover", "--disk", "/no/such"}), "no such directory"));
    CHECK(contains(refusal({"machines", "--discover", "--gpus", "0"}), "/no/such/libcuda.so"));
    CHECK(contains(refusal({"machines", "--discover", "--profile", "h200"}), "not here"));
    CHECK(contains(refusal({"machines", "two-gpu", "--measure"}), "add --discover"));
    CHECK(contains(refusal({"machines", "--discover", "--quick"}), "add --measure"));
    CHECK(contains(refusal({"machines", "--discover", "--measure", "--profile", "h200"}),
                   "contradicts --measure"));
}

TEST_CASE("machines measures this computer, and says what it could not", "[cli][machine][cuda]") {
    const Folder folder;
    const std::string file = folder / "here.json";

    const Said said = support::tidemark(measuring({"-o", file}), small_gpu());

    INFO(said.err);
    REQUIRE(said.code == 0);
    CHECK(said.err == "");
    CHECK(contains(said.out, "gpu:0 -> host bytes_per_second: "));
    CHECK(contains(said.out, "wrote " + file));
    CHECK(folder.names() == std::vector<std::string>{"here.json"});
    const json here = json::parse(support::read_file(file));
    CHECK(here["links"][0]["bytes_per_second"].get<double>() > 1e6);
    // The fake driver's times are this computer's of the moment: what is made of known ones is
    // tested in backends/machines, here that each figure says where it is from.
    for (const char* figure : {"bytes_per_second", "latency"})
        CHECK_FALSE(
            here["derived"][std::string("gpu:0 -> host ") + figure].get<std::string>().empty());
    if (memory_folder() == "/dev/shm")
        CHECK(contains(here["derived"]["disk:0"], "not measured: /dev/shm"));
}

TEST_CASE("a GPU that refuses memory keeps its estimate", "[cli][machine][cuda]") {
    Surroundings surroundings = small_gpu();
    surroundings.environment[1].second += ",fail=cuMemHostAlloc:1:999:all";

    const Said said = support::tidemark(measuring(), surroundings);

    INFO(said.err);
    CHECK(said.code == 0);
    CHECK(contains(said.out, "gpu:0 <-> host: "));
    CHECK(contains(said.out, "; not measured: "));
    CHECK(contains(said.out, "cuMemHostAlloc"));
}

TEST_CASE("the JSON of machines is as documented", "[cli][docs][machine]") {
    const Folder folder;
    support::Keys printed;
    for (const auto& [arguments, surroundings] :
         std::vector<std::pair<std::vector<std::string>, Surroundings>>{
             {{"machines"}, {}},
             {{"machines", "two-gpu", "-o", folder / "x.json"}, {}},
             {{"machines", "--discover", "--disk", folder.path()}, {}},
             {measuring(), small_gpu()}})
        printed.merge(
            support::printed_keys(support::tidemark_json(arguments, surroundings).dump()));
    const support::Keys described = support::documented_keys("machines");

    CHECK_FALSE(described.empty());
    CHECK(printed == described);
}
