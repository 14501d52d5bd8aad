// A whole machine: simulated GPUs, a disk whose speed is known, and a kernel that is not there.
#include "backends/machines/measured_machine.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <catch2/catch.hpp>

#include "backends/sim/sim_device.h"
#include "tests/backends/machines/half_duplex.h"
#include "tests/backends/machines/known_links.h"
#include "tests/backends/machines/slow_disk.h"
#include "tests/support/fake_root.h"
#include "tests/support/fake_topology.h"

using namespace tidemark;
using support::SlowDisk;

namespace {

const CostProfile& profile() {
    static const CostProfile known = support::known_links();
    return known;
}

// A simulated device, and what it is seen through.
class HalfDuplexDevice final : public WrappedDevice<HalfDuplexDevice> {
  public:
    explicit HalfDuplexDevice(std::unique_ptr<SimDevice> sim)
        : WrappedDevice(*sim), half_(*sim), sim_(std::move(sim)) {}

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }

    DeviceResult<void> copy(Address target, Address source, Bytes size, StreamId stream) override {
        return half_.copy(target, source, size, stream);
    }

    DeviceResult<void> synchronize(StreamId stream) override { return half_.synchronize(stream); }

  private:
    support::HalfDuplex half_;
    std::unique_ptr<SimDevice> sim_;
};

std::unique_ptr<SimDevice> simulated() {
    return std::make_unique<SimDevice>(SimConfig{.capacity = 16_GiB, .profile = &profile()});
}

// What is measured, and by what.
struct Rig {
    explicit Rig(Topology topology, bool with_disk = true) {
        DiscoveryQuestion where;
        if (with_disk)
            where.directories = {folder.path()};
        machine = discover_machine(topology, where).value();
        question.files = &disk;
        question.runs = 3;
        question.now = [this] { return disk.now(); };
        question.root = folder.path();
        question.open_gpu = [](std::int32_t) -> Result<std::unique_ptr<Device>> {
            return simulated();
        };
    }

    std::vector<MeasuredFigure> measure() {
        Result<std::vector<MeasuredFigure>> measured = measure_machine(machine, question);
        if (!measured)
            FAIL(to_text(measured.error()));
        return *std::move(measured);
    }

    std::string note_on(std::string_view what) const {
        for (const auto& [name, how] : machine.notes) {
            if (name == what)
                return how;
        }
        return {};
    }

    bool in_memory() const { return note_on("disk:0").find("in memory") != std::string::npos; }

    support::FakeRoot folder;
    SlowDisk disk;
    DiscoveredMachine machine;
    MeasureQuestion question;
};

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("What is measured replaces estimates, and the notes say how", "[machine][measure]") {
    Rig rig(support::full_machine());
    rig.question.gpus = {1};
    const FoundLink estimate = rig.machine.found.gpus[0].to_host;

    const std::vector<MeasuredFigure> measured = rig.measure();

    const FoundMachine& found = rig.machine.found;
    CHECK(found.gpus[1].to_host.bytes_per_second == Approx(50e9).epsilon(1e-3));
    CHECK(found.gpus[1].to_host.overhead == Approx(2000).margin(2));
    CHECK(found.gpus[1].to_host.latency == Approx(2000).margin(5));
    CHECK(found.gpus[1].both == 0);
    CHECK(found.gpus[0].to_host.bytes_per_second == estimate.bytes_per_second);
    CHECK(contains(rig.note_on("gpu:0 <-> host"), "estimated"));
    CHECK(contains(rig.note_on("gpu:1 -> host bytes_per_second"), ", 3 runs, spread 0.0 %: "));
    CHECK(contains(rig.note_on("gpu:1 <-> host bytes_per_second"), "they share nothing"));
    CHECK(rig.note_on("gpu:1 <-> host").empty());
    REQUIRE(measured.size() >= 7);
    CHECK(measured[0].what == "gpu:1 -> host");
    CHECK(measured[0].name == "bytes_per_second");
    CHECK(measured[0].figure.runs == 3);
    CHECK(build_machine(found));
}

TEST_CASE("A disk's figures are its own, with the bus of both", "[machine][measure]") {
    Rig rig(support::plain_machine());

    const std::vector<MeasuredFigure> measured = rig.measure();

    if (rig.in_memory()) {
        WARN("skipped: temporary files are in memory here");
        return;
    }
    const FoundDisk& disk = rig.machine.found.disks[0];
    CHECK(disk.write.bytes_per_second == Approx(1e9).epsilon(0.01));
    CHECK(disk.read.bytes_per_second == Approx(2e9).epsilon(0.01));
    CHECK(disk.read.latency == Approx(50'000).epsilon(0.1));
    CHECK(disk.both == Approx(3e9).epsilon(0.02));
    CHECK(contains(rig.note_on("disk:0 -> host bytes_per_second"), "3 runs"));
    CHECK(contains(rig.note_on("disk:0"), "capacity is what was free"));
    CHECK_FALSE(contains(rig.note_on("disk:0"), "assumed"));
    CHECK(measured.size() == 7);
}

TEST_CASE("Directions that hinder each other are on a bus", "[machine][measure]") {
    Rig rig(support::full_machine(), false);
    rig.question.gpus = {0};
    rig.question.open_gpu = [](std::int32_t) -> Result<std::unique_ptr<Device>> {
        return std::make_unique<HalfDuplexDevice>(simulated());
    };

    rig.measure();

    CHECK(rig.machine.found.gpus[0].both == Approx(50e9).epsilon(1e-3));
    CHECK(contains(rig.note_on("gpu:0 <-> host bytes_per_second"),
                   "50 % of their sum: they share a bus, which gets at least"));
    CHECK(build_machine(rig.machine.found).value().buses.front().name == "gpu0-host");
}

TEST_CASE("What cannot be measured keeps its estimate and says why", "[machine][measure]") {
    Rig rig(support::full_machine());
    rig.question.gpus = {0};
    rig.question.open_gpu = [](std::int32_t) -> Result<std::unique_ptr<Device>> {
        return fail(ErrorCode::driver, "the GPU has fallen off the bus");
    };
    rig.disk.script = [](std::uint64_t) { return EIO; };
    const FoundMachine before = rig.machine.found;

    CHECK(rig.measure().empty());

    CHECK(rig.machine.found.gpus[0].to_host.bytes_per_second ==
          before.gpus[0].to_host.bytes_per_second);
    CHECK(rig.machine.found.disks[0].read.latency == before.disks[0].read.latency);
    CHECK(contains(rig.note_on("gpu:0 <-> host"), "estimated"));
    CHECK(
        contains(rig.note_on("gpu:0 <-> host"), "; not measured: the GPU has fallen off the bus"));
    CHECK(contains(rig.note_on("disk:0"), "assumed"));
    CHECK(contains(rig.note_on("disk:0"), "; not measured: "));
}

TEST_CASE("A folder in memory is no disk", "[machine][measure]") {
    if (!std::filesystem::is_directory("/dev/shm")) {
        WARN("skipped: there is no /dev/shm");
        return;
    }
    Rig rig(support::plain_machine(), false);
    rig.machine.found.disks = {{.capacity = 1_GiB, .directories = {"/dev/shm"}}};

    CHECK(rig.measure().empty());

    CHECK(rig.disk.transfers() == 0);
    CHECK(contains(rig.note_on("disk:0"), "its file system is in memory: no disk"));
}

TEST_CASE("A measurement that is stopped is no machine", "[machine][measure]") {
    Rig rig(support::full_machine());
    rig.question.gpus = {0};
    rig.question.stop = [] { return true; };

    const auto measured = measure_machine(rig.machine, rig.question);

    REQUIRE_FALSE(measured);
    CHECK(measured.error().code == ErrorCode::cancelled);
}

TEST_CASE("Progress goes from nothing to all of it, over all parts", "[machine][measure]") {
    Rig rig(support::full_machine(), false);
    rig.question.gpus = {0, 1};
    std::vector<double> shares;
    rig.question.progress = [&shares](double share) { shares.push_back(share); };

    rig.measure();

    REQUIRE(shares.size() == 6);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.front() == Approx(1.0 / 6));
    CHECK(shares.back() == Approx(1));
}

TEST_CASE("Nodes are linked by copies between them, if pages can be placed",
          "[machine][measure][numa]") {
    Rig rig(support::full_machine(), false);
    support::FakeRoot root;
    root.put("/sys/devices/system/node/online", "0-1");
    root.put_node(0, 256, "0", "10 20");
    root.put_node(1, 256, "0", "20 10");
    const NumaHost refusing(root.path(), fail(ErrorCode::unsupported, "no libnuma here"));
    rig.question.host = &refusing;

    CHECK(rig.measure().empty());

    CHECK(rig.machine.found.node_links.empty());
    CHECK(contains(rig.note_on("host:0 -> host:1"), "no libnuma here"));
    CHECK(contains(rig.note_on("host:1 -> host:0"), "not measured"));
}
