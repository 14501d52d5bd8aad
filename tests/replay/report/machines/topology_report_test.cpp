// Words and JSON about machines that are not there.
#include "replay/report/machines/topology_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/fake_recording.h"
#include "tests/support/fake_topology.h"
#include "tests/support/json_keys.h"

using namespace tidemark;
using nlohmann::json;
using support::full_machine;
using support::Keys;
using support::plain_machine;

namespace {

const Provenance kProvenance{"0.2.0", "tidemark devices"};

std::vector<CostProfile> profiles() {
    CostProfile profile;
    profile.name = "card";
    profile.device = "Some Card";
    profile.memory = 8_GiB;
    return {profile};
}

// Every key is described, and every described key is printed.
void check_keys(const std::string& section, const std::string& text) {
    const Keys printed = support::printed_keys(text);
    const Keys described = support::documented_keys(section);
    INFO(section);
    for (const std::string& key : printed) {
        INFO("printed: " << key);
        CHECK(described.contains(key));
    }
    for (const std::string& key : described) {
        INFO("described: " << key);
        CHECK(printed.contains(key));
    }
}

}  // namespace

TEST_CASE("a machine without GPUs is listed in a few lines", "[report]") {
    CHECK(devices_text(plain_machine(), profiles(), {}) ==
          "no GPU    see `tidemark doctor`\n"
          "host      AMD EPYC 9654, 4 processors, 16.0 GiB, 12.0 GiB available\n"
          "sim:card  simulated Some Card, 8.00 GiB\n");
}

TEST_CASE("GPUs are listed with what connects them, nodes with what is near", "[report]") {
    Topology machine = full_machine();
    machine.cuda->gpus.pop_back();
    machine.cuda->gpus[0].cuda.name = "Card\x1b[1m";  // names are made printable

    CHECK(devices_text(machine, {}, {}) ==
          "cuda:0  Card\\x1b[1m, 140 GiB, compute 9.0, 132 multiprocessors\n"
          "        PCI 0000:1b:00.0, 32 GT/s x16 (in an x8 slot), 18 NVLinks, near node 0\n"
          "        virtual memory (pages of 2.00 MiB), memory pools, graphs, batched copies, "
          "shared handles, IPC\n"
          "        reaches cuda:1\n"
          "        CUDA 13.0, driver 580.65.06\n"
          "host    AMD EPYC 9654, 4 processors, 16.0 GiB, 12.0 GiB available\n"
          "node 0  64.0 GiB, 50.0 GiB free, processors 0-3,8, distances 10 32\n"
          "node 1  64.0 GiB, 40.0 GiB free, no processors, distances 32 10\n");
}

TEST_CASE("bandwidths are a table of nodes against nodes", "[report]") {
    const NumaBandwidth measured[] = {{0, 0, 12.34e9, 3}, {0, 1, 5e9, 3}};
    const std::string text = devices_text(full_machine(), {}, measured);

    CHECK(text.find("\n\n| copying on | memory of node 0 | memory of node 1 |\n"
                    "| ---------- | ---------------: | ---------------: |\n"
                    "| node 0     |        12.3 GB/s |         5.0 GB/s |\n"
                    "| node 1     |                - |                - |\n") != std::string::npos);
}

TEST_CASE("the doctor says yes, or no with a reason and a cure", "[report]") {
    const Finding findings[] = {
        {"simulator", "replay", true, "sim:h200", "", "", ""},
        {"cuda", "calibrate", false, "", "libcuda.so.1: not found", "install it", ""},
        {"graphs", "arenas", false, "", "it needs cuda", "", "cuda"},
        {"torch", "records", false, "", "not installed", "", ""},
    };
    const std::string text =
        "yes  simulator  replay (sim:h200)\n"
        "no   cuda       calibrate\n"
        "                why: libcuda.so.1: not found\n"
        "                do:  install it\n"
        "no   graphs     arenas (needs cuda)\n"
        "no   torch      records (not installed)\n";

    CHECK(doctor_text(findings, {}) == text);
    const std::string_view here[] = {"simulator"};
    CHECK(doctor_text(findings, here) == text);
    const std::string_view required[] = {"graphs", "simulator", "cuda"};
    CHECK(doctor_text(findings, required) == text + "\nRequired but missing: cuda, graphs\n");
    CHECK(missing_of(findings, required) == std::vector<std::string_view>{"cuda", "graphs"});
}

TEST_CASE("the JSON of devices is as documented", "[report][docs]") {
    const NumaBandwidth measured[] = {{0, 1, 5e9, 3}};
    check_keys("devices", devices_json(full_machine(), profiles(), measured, kProvenance));
}

TEST_CASE("the JSON of doctor is as documented", "[report][docs]") {
    check_keys("doctor",
               doctor_json(diagnose(plain_machine(), support::no_recording()), {}, kProvenance));
}

TEST_CASE("the JSON of a machine without GPUs has null and empty lists, not words", "[report]") {
    const json object = json::parse(devices_json(plain_machine(), profiles(), {}, kProvenance));

    CHECK(object["gpus"].empty());
    CHECK(object["cards"].empty());
    CHECK(object["driver"]["cuda_version"].is_null());
    CHECK(object["driver"]["driver_version"].is_null());
    CHECK(object["driver"]["problem"].get<std::string>().find("libcuda.so.1: ") == 0);
    CHECK(object["host"]["placement_problem"].is_null());
    CHECK(object["host"]["nodes"][0]["memory_bytes"] == 16_GiB);
    CHECK(object["simulated"][0]["device"] == "sim:card");
}

TEST_CASE("what is required and missing is in the doctor's JSON", "[report]") {
    const std::string_view required[] = {"cuda", "simulator"};
    const json object = json::parse(
        doctor_json(diagnose(plain_machine(), support::no_recording()), required, kProvenance));

    CHECK(object["required"] == json::array({"cuda", "simulator"}));
    CHECK(object["missing"] == json::array({"cuda"}));
}
