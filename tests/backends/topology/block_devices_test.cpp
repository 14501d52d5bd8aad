// Drives: which one a folder is on, and what it is.
#include "backends/topology/block_devices.h"

#include <filesystem>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "core/base/units.h"
#include "tests/support/fake_root.h"

using namespace tidemark;
using namespace tidemark::literals;

namespace {

constexpr const char* kNvme =
    "/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/nvme/nvme0/nvme0n1";
constexpr const char* kSata =
    "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
constexpr const char* kVirtual = "/sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda";
constexpr const char* kArray = "/sys/devices/virtual/block/md0";

void put_drive(support::FakeRoot& root, const std::string& name, const std::string& device,
               Bytes capacity) {
    root.put(device + "/size", std::to_string(capacity / 512));
    root.link("/sys/block/" + name, device);
}

void put_drives(support::FakeRoot& root) {
    put_drive(root, "nvme0n1", kNvme, 2000_GiB);
    put_drive(root, "sda", kSata, 4000_GiB);
    root.put(std::string(kSata) + "/queue/rotational", "1");
    put_drive(root, "vda", kVirtual, 100_GiB);
    put_drive(root, "md0", kArray, 2000_GiB);
    put_drive(root, "dm-0", "/sys/devices/virtual/block/dm-0", 50_GiB);
}

// Lets the root's folder lie on `device` of the fake computer.
void put_folder(support::FakeRoot& root, const std::string& device) {
    struct stat facts {};

    REQUIRE(stat(root.path().c_str(), &facts) == 0);
    root.link(fmt::format("/sys/dev/block/{}:{}", major(facts.st_dev), minor(facts.st_dev)),
              device);
}

}  // namespace

TEST_CASE("A folder's drive or array says what it is", "[topology]") {
    struct Case {
        std::string device;
        std::string name;
        BlockKind kind;
        bool rotating = false;
    };

    const auto& [device, name, kind, rotating] = GENERATE(values<Case>({
        {kNvme, "nvme0n1", BlockKind::nvme},
        {kSata, "sda", BlockKind::sata, true},
        {kArray, "md0", BlockKind::raid},
        {kVirtual, "vda", BlockKind::other},
    }));
    support::FakeRoot root;
    put_drives(root);
    put_folder(root, device);

    const std::optional<BlockDevice> found = block_device_of(root.path(), root.path());

    REQUIRE(found);
    CHECK(found->name == name);
    CHECK(found->kind == kind);
    CHECK(found->rotating == rotating);
}

TEST_CASE("A folder is on the drive that its partition is of", "[topology]") {
    support::FakeRoot root;
    put_drives(root);
    root.put(std::string(kNvme) + "/nvme0n1p2/partition", "2");
    put_folder(root, std::string(kNvme) + "/nvme0n1p2");

    const std::optional<BlockDevice> device = block_device_of(root.path(), root.path());

    REQUIRE(device);
    CHECK(device->name == "nvme0n1");
}

TEST_CASE("A folder on a mapped volume is on the drive below it", "[topology]") {
    support::FakeRoot root;
    put_drives(root);
    root.put(std::string(kSata) + "/sda3/partition", "3");
    root.link("/sys/class/block/sda3", std::string(kSata) + "/sda3");
    root.put("/sys/devices/virtual/block/dm-0/slaves/sda3/partition", "3");
    put_folder(root, "/sys/devices/virtual/block/dm-0");

    const std::optional<BlockDevice> device = block_device_of(root.path(), root.path());

    REQUIRE(device);
    CHECK(device->name == "sda");
}

TEST_CASE("A volume that is made of itself ends somewhere", "[topology]") {
    support::FakeRoot root;
    put_drives(root);
    root.put("/sys/devices/virtual/block/dm-0/slaves/dm-0/x", "");
    put_folder(root, "/sys/devices/virtual/block/dm-0");

    CHECK_FALSE(block_device_of(root.path(), root.path()));
}

TEST_CASE("A folder that is on no drive, or is not there, has none", "[topology]") {
    support::FakeRoot root;
    put_drives(root);

    CHECK_FALSE(block_device_of(root.path(), root.path()));
    CHECK_FALSE(block_device_of(root.path() + "/nowhere", root.path()));
    CHECK_FALSE(block_device_of("/proc"));
}
