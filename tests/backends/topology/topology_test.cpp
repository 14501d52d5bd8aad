// Discovery on machines that are not there: trees for /sys and /proc, programs that stand in for
// Python, an NVML of our own.
#include "backends/topology/topology.h"

#include <cstring>
#include <filesystem>

#include <catch2/catch.hpp>

#include "backends/topology/program_output.h"
#include "core/base/stopwatch.h"
#include "tests/support/fake_root.h"

using namespace tidemark;
using support::FakeRoot;

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

void put_card(FakeRoot& root, const std::string& address, const std::string& vendor,
              const std::string& kind) {
    const std::string folder = "/sys/bus/pci/devices/" + address;
    root.put(folder + "/vendor", vendor);
    root.put(folder + "/class", kind);
    root.put(folder + "/numa_node", "1");
    root.put(folder + "/current_link_speed", "2.5 GT/s PCIe");
    root.put(folder + "/current_link_width", "8");
    root.put(folder + "/max_link_speed", "32.0 GT/s PCIe");
    root.put(folder + "/max_link_width", "16");
}

// A question about `root` alone: nothing of this computer answers.
TopologyQuestion question_about(const FakeRoot& root) {
    return {.root = root.path(),
            .cuda_library = "/no/such/libcuda.so",
            .nvml_library = "/no/such/libnvidia-ml.so",
            .numa_library = "/no/such/libnuma.so",
            .python = {.program = root.path() + "/bin/python3"}};
}

}  // namespace

TEST_CASE("the bus tells NVIDIA's cards with their links, and nothing else", "[topology]") {
    FakeRoot root;
    put_card(root, "0000:1b:00.0", "0x10de", "0x030200");
    put_card(root, "0000:0a:00.0", "0x10de", "0x030000");
    put_card(root, "0000:0b:00.0", "0x10de", "0x068000");  // a switch
    put_card(root, "0000:0c:00.0", "0x1002", "0x030000");
    std::filesystem::create_symlink("/sys/bus/pci/drivers/vfio-pci",
                                    root.path() + "/sys/bus/pci/devices/0000:1b:00.0/driver");

    const std::vector<PciCard> cards = find_nvidia_cards(root.path());

    REQUIRE(cards.size() == 2);
    CHECK(cards[0].address == "0000:0a:00.0");
    CHECK(cards[0].driver.empty());
    CHECK(cards[1].driver == "vfio-pci");
    CHECK(cards[1].numa_node == 1);
    CHECK(cards[1].link.speed_gts == 2.5);
    CHECK(cards[1].link.width == 8);
    CHECK(cards[1].link.fastest_speed_gts == 32);
    CHECK(cards[1].link.max_width == 16);
}

TEST_CASE("a card is found by its address, however that is written", "[topology]") {
    FakeRoot root;
    put_card(root, "0000:1b:00.0", "0x10de", "0x030200");
    root.put("/sys/bus/pci/devices/0000:1b:00.0/max_link_speed", "Unknown");
    root.put("/sys/bus/pci/devices/0000:1b:00.0/max_link_width", "255");

    REQUIRE(find_card("0000:1B:00.0", root.path()));
    CHECK(find_card("0000:1B:00.0", root.path())->link.fastest_speed_gts == 0);
    CHECK(find_card("0000:1B:00.0", root.path())->link.max_width == 0);
    CHECK_FALSE(find_card("0000:1c:00.0", root.path()));
    CHECK_FALSE(find_card("", root.path()));
    CHECK_FALSE(find_card("../devices/0000:1b:00.0", root.path()));
}

TEST_CASE("programs are found on a path of folders, or where they are named", "[topology]") {
    FakeRoot root;
    root.put("/a/tool", "not for running");
    root.put_program("/b/tool", "#!/bin/sh");
    const std::string path = root.path() + "/a::" + root.path() + "/b";

    CHECK(find_program("tool", path) == root.path() + "/b/tool");
    CHECK(find_program(root.path() + "/b/tool", "") == root.path() + "/b/tool");
    CHECK(find_program(root.path() + "/a/tool", path).empty());
    CHECK(find_program("none", path).empty());
    CHECK(find_program("b", root.path()).empty());  // a folder
    CHECK(find_program("", path).empty());
}

TEST_CASE("what a program prints comes back, and its failures are told", "[topology]") {
    FakeRoot root;
    root.put_program("/good",
                     "#!/bin/sh\necho $1; echo noise >&2; read line && echo $line; exit 0");
    root.put_program("/bad", "#!/bin/sh\necho half; exit 3");
    root.put_program("/endless", "#!/bin/sh\nwhile true; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done");

    CHECK(*run_program({root.path() + "/good", "two words"}, 5 * kSecond) == "two words\n");
    CHECK(run_program({root.path() + "/bad"}, 5 * kSecond).error().what == "it ended with 3");
    CHECK(run_program({root.path() + "/none"}, 5 * kSecond).error().code == ErrorCode::not_found);
    CHECK(run_program({root.path() + "/endless"}, 20 * kSecond).error().what ==
          "it prints without end");
}

TEST_CASE("a program that hangs is ended with all that it started, in time", "[topology]") {
    FakeRoot root;
    root.put_program("/hang", "#!/bin/sh\nsleep 60 & echo started; wait");
    root.put_program("/closed", "#!/bin/sh\nexec 1>&-; sleep 60");
    const Stopwatch stopwatch;

    CHECK(run_program({root.path() + "/hang"}, kSecond / 10).error().what ==
          "no end within 100 ms");
    CHECK(run_program({root.path() + "/closed"}, kSecond / 10).error().code == ErrorCode::io);
    CHECK(stopwatch.elapsed() < 10 * kSecond);
}

TEST_CASE("Python tells its version and the packages, under each of their names", "[topology]") {
    FakeRoot root;
    root.put_program("/python",
                     "#!/bin/sh\nprintf 'python\\t3.12.1\\npackage\\ttorch\\t2.11.0+cu130\\n'\n"
                     "printf 'package\\trmm-tools\\t0.20\\npackage\\trmm-cu13\\t26.2\\n'\n");

    const Result<PythonFacts> facts = ask_python({.program = root.path() + "/python"});

    REQUIRE(facts);
    CHECK(facts->version == "3.12.1");
    REQUIRE(facts->find("torch"));
    CHECK(facts->find("torch")->version == "2.11.0+cu130");
    CHECK(facts->find("rmm")->name == "rmm-cu13");  // rmm-tools is a package of its own
}

TEST_CASE("a Python that is none, or hangs, is told as such", "[topology]") {
    FakeRoot root;
    root.put_program("/none", "#!/bin/sh\necho hello");
    root.put_program("/hang", "#!/bin/sh\nsleep 60");

    CHECK(ask_python({.program = root.path() + "/none"}).error().what ==
          "it does not answer like Python");
    CHECK(ask_python({root.path() + "/hang", kSecond / 10}).error().what == "no end within 100 ms");
    CHECK(ask_python({.program = "/no/such/python"}).error().code == ErrorCode::not_found);
}

TEST_CASE("the Python of this computer answers the script as it is", "[topology][host]") {
    const Result<PythonFacts> facts = ask_python({});
    if (!facts) {
        WARN("skipped: " << to_text(facts.error()));
        return;
    }
    CHECK(facts->version.starts_with("3."));
    for (const PythonPackage& package : facts->packages)
        CHECK_FALSE(package.version.empty());
}

TEST_CASE("a module in the working folder does not stand in for Python's own", "[topology][host]") {
    FakeRoot root;
    root.put("/csv.py", "raise SystemExit(9)");
    const std::filesystem::path before = std::filesystem::current_path();
    const Result<PythonFacts> at_home = ask_python({});
    std::filesystem::current_path(root.path());

    const Result<PythonFacts> facts = ask_python({});

    std::filesystem::current_path(before);
    CHECK(facts.has_value() == at_home.has_value());
}

namespace {

struct FakeNvml {
    int starts = 0;
    int ends = 0;
    int refuse_start = 0;
};

FakeNvml nvml_state;

NvmlCalls fake_nvml() {
    nvml_state = {};
    NvmlCalls calls;
    calls.init = [] {
        ++nvml_state.starts;
        return nvml_state.refuse_start;
    };
    calls.shutdown = [] { return ++nvml_state.ends, 0; };
    calls.error_string = [](int) { return "Driver Not Loaded"; };
    calls.driver_version = [](char* text, unsigned) {
        std::strcpy(text, "580.65.06");
        return 0;
    };
    calls.card_by_address = [](const char* address, NvmlCalls::Card*) {
        return std::strcmp(address, "0000:1b:00.0") == 0 ? 0 : 6;
    };
    calls.link_state = [](NvmlCalls::Card, unsigned link, unsigned* up) {
        *up = link % 2;  // every other one is up, and there are ten
        return link < 10 ? 0 : 3;
    };
    return calls;
}

}  // namespace

TEST_CASE("NVML counts the links that are up, and is ended once", "[topology]") {
    {
        Result<Nvml> opened = Nvml::start(fake_nvml());
        REQUIRE(opened);
        const Nvml nvml = std::move(*opened);

        CHECK(nvml.driver_version() == "580.65.06");
        CHECK(nvml.links_up("0000:1b:00.0") == 5U);
        CHECK(nvml.links_up("0000:ff:00.0").error().what ==
              "nvmlDeviceGetHandleByPciBusId: Driver Not Loaded (6)");
    }
    CHECK(nvml_state.starts == 1);
    CHECK(nvml_state.ends == 1);
}

TEST_CASE("an NVML that does not start says why, and is not ended", "[topology]") {
    const NvmlCalls calls = fake_nvml();
    nvml_state.refuse_start = 9;

    CHECK(Nvml::start(calls).error().what == "nvmlInit: Driver Not Loaded (9)");
    CHECK(nvml_state.ends == 0);
    CHECK(Nvml::open("libc.so.6").error().what == "it has no function nvmlInit_v2");
}

TEST_CASE("a machine without anything is described without anything", "[topology]") {
    FakeRoot root;

    const Topology found = discover_topology(question_about(root));

    CHECK(found.processor.empty());
    CHECK(found.processors == 0);
    CHECK(found.memory == 0);
    CHECK(found.cards.empty());
    CHECK(found.kernel_driver.empty());
    CHECK_FALSE(found.numa_obstacle);  // one node needs nothing
    CHECK(found.cuda.error().code == ErrorCode::not_found);
    CHECK(found.nvml.error().code == ErrorCode::unsupported);
    CHECK(found.python.error().code == ErrorCode::not_found);
}

TEST_CASE("a machine is described from its tree", "[topology]") {
    FakeRoot root;
    root.put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC 9654\nflags\t: fpu");
    root.put("/proc/meminfo", "MemTotal: 2097152 kB\nMemFree: 1024 kB\nMemAvailable: 1048576 kB");
    root.put("/sys/devices/system/node/online", "0-1");
    root.put_node(0, 1024, "0-3", "10 32");
    root.put_node(1, 1024, "4-7", "32 10");
    root.put("/sys/module/nvidia/version", "580.65.06");
    put_card(root, "0000:1b:00.0", "0x10de", "0x030200");
    root.put_program("/bin/python3", "#!/bin/sh\nprintf 'python\\t3.12.1\\n'");

    const Topology found = discover_topology(question_about(root));

    CHECK(found.processor == "AMD EPYC 9654");
    CHECK(found.processors == 8);
    CHECK(found.memory == 2_GiB);
    CHECK(found.memory_available == 1_GiB);
    CHECK(found.host.nodes.size() == 2);
    REQUIRE(found.numa_obstacle);
    CHECK(found.numa_obstacle->what == "/no/such/libnuma.so cannot be loaded");
    CHECK(found.kernel_driver == "580.65.06");
    CHECK(found.cards.size() == 1);
    REQUIRE(found.python);
    CHECK(found.python->packages.empty());
}

TEST_CASE("GPUs that a driver shows are joined with their cards on the bus", "[topology]") {
    FakeRoot root;
    TopologyQuestion question = question_about(root);
    question.cuda_library = TIDEMARK_FAKE_CUDA;
    const Topology hidden = discover_topology(question);
    REQUIRE(hidden.cuda);
    REQUIRE(hidden.cuda->gpus.size() == 1);
    CHECK_FALSE(hidden.cuda->gpus[0].card);
    put_card(root, hidden.cuda->gpus[0].cuda.pci_address, "0x10de", "0x030200");

    const Topology found = discover_topology(question);

    REQUIRE(found.cuda);
    CHECK(found.cuda->library == TIDEMARK_FAKE_CUDA);
    CHECK(found.cuda->version == 13000);
    REQUIRE(found.cuda->gpus[0].card);
    CHECK(found.cuda->gpus[0].card->link.max_width == 16);
    CHECK_FALSE(found.cuda->gpus[0].nvlinks);
}

TEST_CASE("discovery of this computer ends, whatever there is", "[topology][host]") {
    const Topology found = discover_topology();

    CHECK(found.processors > 0);
    CHECK(found.memory > 0);
    CHECK_FALSE(found.host.nodes.empty());
    if (found.cuda)
        for (const Gpu& gpu : found.cuda->gpus)
            CHECK(gpu.cuda.total_memory > 0);
}
