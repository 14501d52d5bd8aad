// Findings about machines that are not there.
#include "replay/analysis/calibrate/doctor.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/fake_recording.h"
#include "tests/support/fake_topology.h"

using namespace tidemark;
using support::full_machine;
using support::plain_machine;

namespace {

Finding finding(const Topology& topology, std::string_view name,
                const RecordingFacts& recording = support::full_recording()) {
    const std::vector<Finding> findings = diagnose(topology, recording);
    const auto found = std::find_if(findings.begin(), findings.end(),
                                    [name](const Finding& each) { return each.name == name; });
    REQUIRE(found != findings.end());
    return *found;
}

bool says(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a machine with everything lacks nothing", "[doctor]") {
    for (const Finding& each : diagnose(full_machine(), support::full_recording())) {
        INFO(each.name << ": " << each.why);
        CHECK(each.here);
        CHECK_FALSE(each.what.empty());
        CHECK(each.why.empty());
    }
    CHECK(finding(full_machine(), "cuda").what == "cuda:0 NVIDIA H200, cuda:1 NVIDIA H200");
    CHECK(finding(full_machine(), "rmm").what == "rmm-cu13 26.2");
    CHECK(finding(full_machine(), "numa").what == "2 nodes");
}

TEST_CASE("without a GPU the simulator is here, and the rest says why not", "[doctor]") {
    for (const Finding& each : diagnose(plain_machine(), support::no_recording())) {
        INFO(each.name);
        const bool expected = each.name == "simulator" || each.name == "numa";
        CHECK(each.here == expected);
        CHECK(each.why.empty() == expected);
        CHECK_FALSE(each.use.empty());
    }
    CHECK(says(finding(plain_machine(), "simulator").what, "sim:h200"));
    CHECK(finding(plain_machine(), "virtual-memory").needs == "cuda");
    CHECK(says(finding(plain_machine(), "cuda").hint, "everything runs on the simulator"));
    CHECK(finding(plain_machine(), "numa").what == "one node");
}

TEST_CASE("a card without a driver is seen on the bus", "[doctor]") {
    Topology machine = plain_machine();
    machine.cards = full_machine().cards;
    const Finding bare = finding(machine, "cuda");
    machine.kernel_driver = "580.65.06";
    const Finding contained = finding(machine, "cuda");

    CHECK(says(bare.why, "plugged in at 0000:1b:00.0"));
    CHECK(says(bare.hint, "install"));
    CHECK(says(contained.hint, "container"));
}

TEST_CASE("a driver without GPUs, and GPUs without a feature, are told apart", "[doctor]") {
    Topology machine = full_machine();
    machine.cuda->gpus[0].cuda.virtual_memory = false;
    CHECK(finding(machine, "virtual-memory").what == "cuda:1");
    machine.cuda->gpus[1].cuda.virtual_memory = false;
    CHECK(says(finding(machine, "virtual-memory").why, "neither the GPU nor the driver"));
    machine.cuda->gpus.pop_back();
    CHECK(finding(machine, "peer-access").why == "there is one GPU");
    machine.cuda->gpus[0].nvlinks = 0;
    CHECK(finding(machine, "nvlink").why == "no link is up");
    machine.cuda->gpus.clear();
    CHECK(says(finding(machine, "cuda").hint, "CUDA_VISIBLE_DEVICES"));
    CHECK(finding(machine, "graphs").needs == "cuda");
}

TEST_CASE("what Python lacks is told apart from there being no Python", "[doctor]") {
    Topology machine = full_machine();
    machine.python->packages.clear();

    CHECK(finding(machine, "torch").why == "not installed");
    CHECK(finding(machine, "python").what == "3.12.1, /usr/bin/python3");
    CHECK(finding(plain_machine(), "torch").needs == "python");
}

TEST_CASE("several nodes that cannot be placed on say what is missing", "[doctor]") {
    Topology machine = full_machine();
    machine.numa_obstacle = Error{ErrorCode::unsupported, "libnuma.so.1 cannot be loaded",
                                  "libnuma", "install libnuma"};

    CHECK(finding(machine, "numa").why == "libnuma: libnuma.so.1 cannot be loaded");
    CHECK(finding(machine, "numa").hint == "install libnuma");
}

TEST_CASE("every capability says what this version does with it", "[doctor]") {
    for (const Finding& each : diagnose(full_machine(), support::full_recording()))
        CHECK_FALSE(says(std::string(each.use), "not used"));
    for (const char* unused : {"numba", "ipc", "shared-handles"})
        CHECK_FALSE(check_capability_name(unused));
}

TEST_CASE("each thing that recording takes is there, or says what to do", "[doctor]") {
    for (const char* name : {"record", "cupti", "attach", "compiler"}) {
        INFO(name);
        CHECK(finding(plain_machine(), name).here);
        const Finding missing = finding(plain_machine(), name, support::no_recording());
        CHECK_FALSE(missing.here);
        CHECK_FALSE(missing.hint.empty());
    }
    CHECK(finding(full_machine(), "record").what == "/usr/lib/libtidemark-record.so");
    CHECK(finding(plain_machine(), "record", support::no_recording()).why ==
          "CUDA_INJECTION64_PATH: is set already, to other.so");
}

TEST_CASE("the CUPTI that PyTorch brings counts where there is no other", "[doctor]") {
    CHECK(says(finding(full_machine(), "cupti").what, "/usr/local/cuda"));
    const Finding brought = finding(full_machine(), "cupti", support::no_recording());
    CHECK(brought.here);
    CHECK(brought.what == "13.0.85, in programs of this Python");
    Topology machine = full_machine();
    std::erase_if(machine.python->packages,
                  [](const PythonPackage& each) { return each.name.starts_with("nvidia"); });
    CHECK(finding(machine, "cupti", support::no_recording()).why == "no CUPTI (none was found)");
}

TEST_CASE("each adapter has its package's version", "[doctor]") {
    CHECK(finding(full_machine(), "cupy").what == "cupy-cuda13x 14.0");
    CHECK(says(std::string(finding(full_machine(), "cupy").use), "tidemark.cupy"));
    CHECK(finding(full_machine(), "numba-cuda").what == "0.23");
    CHECK(says(std::string(finding(full_machine(), "numba-cuda").use), "tidemark.numba"));
    CHECK(finding(full_machine(), "cuda-core").what == "0.5");
    CHECK(says(std::string(finding(full_machine(), "cuda-core").use), "tidemark.cuda_core"));
    CHECK(says(std::string(finding(full_machine(), "rmm").use), "tidemark.rmm"));
}

TEST_CASE("names of capabilities are checked, and a near miss is met", "[doctor]") {
    for (const std::string_view name : capability_names())
        CHECK(check_capability_name(name));
    CHECK(check_capability_name("cudda").error().hint == "did you mean cuda?");
    CHECK(check_capability_name("zzzzzzzz").error().hint == "see `tidemark doctor`");
}
