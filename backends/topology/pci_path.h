// Where on the PCI bus a device is plugged in, and how far two are apart: by the bridges that they
// share, as /sys tells them. (The difference of bus numbers, which cuCascade takes, says nothing of
// bridges.) Plain values; thread-safe; O(depth of the bus).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

struct PciPath {
    std::string host_bridge;           // "pci0000:00"
    std::vector<std::string> bridges;  // addresses, from the root port down
    std::string address;               // of the device itself
    int numa_node = -1;                // -1 = not told
};

// The ways of nvidia-smi's matrix, nearest first.
enum class PciDistance : std::uint8_t {
    same,         // one device, or functions of it
    one_switch,   // PIX: at most one switch between them
    switches,     // PXB: several switches, but no host bridge
    host_bridge,  // PHB: a host bridge, in the processor
    node,         // NODE: host bridges of one memory node
    system,       // SYS: memory nodes apart, or not known to be together
};

std::string_view to_text(PciDistance distance);  // "X", "PIX", "PXB", "PHB", "NODE", "SYS"

// What the target of a link in /sys/bus/pci/devices, or a path below it, says: the parts from the
// host bridge to the last PCI address in it. Nothing if there is none.
std::optional<PciPath> parse_pci_path(std::string_view sys_path);

// The path of the device at `address`. Nothing if the bus has none. `root` stands for "/".
std::optional<PciPath> read_pci_path(const std::string& address, const std::string& root = "");

// Two that tell no node are taken to be on the only one; one alone is far from every other.
PciDistance distance_of(const PciPath& a, const PciPath& b);

}  // namespace tidemark
