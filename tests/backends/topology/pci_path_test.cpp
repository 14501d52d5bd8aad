// Distances on the PCI bus: by the bridges that two devices share.
#include "backends/topology/pci_path.h"

#include <catch2/catch.hpp>

#include "tests/support/fake_root.h"

using namespace tidemark;

namespace {

PciPath path_of(const std::string& below, int node = 0) {
    PciPath path = parse_pci_path("../../../devices/" + below).value();
    path.numa_node = node;
    return path;
}

std::string_view between(const std::string& a, const std::string& b) {
    const PciDistance there = distance_of(path_of(a), path_of(b));
    CHECK(there == distance_of(path_of(b), path_of(a)));
    return to_text(there);
}

}  // namespace

TEST_CASE("A path on the bus is its host bridge, the bridges below, and the device", "[topology]") {
    const std::optional<PciPath> path = parse_pci_path(
        "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:19:00.0/net/ib0");

    REQUIRE(path);
    CHECK(path->host_bridge == "pci0000:15");
    CHECK(path->bridges ==
          std::vector<std::string>{"0000:15:01.0", "0000:16:00.0", "0000:17:02.0"});
    CHECK(path->address == "0000:19:00.0");
}

TEST_CASE("A device right at the host bridge has no other above it", "[topology]") {
    const std::optional<PciPath> path = parse_pci_path("../../devices/pci0000:00/0000:00:02.0");

    REQUIRE(path);
    CHECK(path->bridges.empty());
    CHECK(path->address == "0000:00:02.0");
}

TEST_CASE("Paths with a long domain, as of a controller behind another, are read", "[topology]") {
    const std::optional<PciPath> path = parse_pci_path(
        "../devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0/nvme/nvme0");

    REQUIRE(path);
    CHECK(path->host_bridge == "pci10000:e0");
    CHECK(path->address == "10000:e1:00.0");
}

TEST_CASE("What is not on the bus has no path there", "[topology]") {
    for (const char* text : {"", "/", "../../devices/virtual/net/lo", "/sys/devices/pci0000:00",
                             "0000:19:00.0", "/sys/devices/platform/0000:19:00.0"}) {
        INFO(text);
        CHECK_FALSE(parse_pci_path(text));
    }
}

TEST_CASE("Distances are those of the nearest thing above both", "[topology]") {
    // A root port, a switch (its upstream port, then a port for each device), two devices.
    const std::string port = "pci0000:15/0000:15:01.0/0000:16:00.0/";
    CHECK(between(port + "0000:17:00.0/0000:18:00.0", port + "0000:17:00.0/0000:18:00.1") == "X");
    CHECK(between(port + "0000:17:00.0/0000:18:00.0", port + "0000:17:01.0/0000:19:00.0") == "PIX");
    CHECK(between(port + "0000:17:00.0/0000:18:00.0",
                  port + "0000:17:01.0/0000:19:00.0/0000:1a:00.0/0000:1b:00.0") == "PXB");
    CHECK(between("pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:02.0/0000:02:00.0") ==
          "PHB");
    CHECK(between("pci0000:00/0000:00:02.0", "pci0000:00/0000:00:03.0") == "PHB");
    CHECK(between("pci0000:00/0000:00:02.0", "pci0000:15/0000:15:03.0") == "NODE");
}

TEST_CASE("Neighbours by bus number may be far apart, and far numbers near", "[topology]") {
    // cuCascade calls the first pair PIX (2 numbers apart) and the second NODE (more than 10).
    CHECK(between("pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:02.0/0000:03:00.0") ==
          "PHB");
    CHECK(between("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0",
                  "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:40:00.0") == "PIX");
}

TEST_CASE("Host bridges of different nodes are a system apart", "[topology]") {
    const std::string a = "pci0000:15/0000:15:01.0/0000:16:00.0";
    const std::string b = "pci0000:97/0000:97:01.0/0000:98:00.0";

    CHECK(distance_of(path_of(a, 0), path_of(b, 1)) == PciDistance::system);
    CHECK(distance_of(path_of(a, 1), path_of(b, 1)) == PciDistance::node);
    CHECK(distance_of(path_of(a, -1), path_of(b, -1)) == PciDistance::node);
    CHECK(distance_of(path_of(a, -1), path_of(b, 0)) == PciDistance::system);
}

TEST_CASE("The path of a device is read from /sys", "[topology]") {
    support::FakeRoot root;
    root.put("/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0/numa_node", "1");
    root.link("/sys/bus/pci/devices/0000:18:00.0",
              "/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0");

    const std::optional<PciPath> path = read_pci_path("0000:18:00.0", root.path());

    REQUIRE(path);
    CHECK(path->bridges == std::vector<std::string>{"0000:15:01.0"});
    CHECK(path->numa_node == 1);
    CHECK_FALSE(read_pci_path("0000:19:00.0", root.path()));
    CHECK_FALSE(read_pci_path("", root.path()));
    CHECK_FALSE(read_pci_path("../../../etc", root.path()));
}
