// Graphics cards on the PCI bus: which are plugged in, with or without a driver, and over which
// link.
//
// Read from /sys/bus/pci/devices under `root` (backends/numa/sys_files.h). Plain values;
// thread-safe; O(devices on the bus).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tidemark {

// A link as both ends have negotiated it now, and the best that they could. Idle cards slow their
// links down, so only `fastest_` shows what a copy will get.
struct PciLink {
    double speed_gts = 0;  // 10^9 transfers a second and lane; 0 = unknown
    unsigned width = 0;    // lanes
    double fastest_speed_gts = 0;
    unsigned max_width = 0;
};

struct PciCard {
    std::string address;  // "0000:1b:00.0"
    std::string driver;   // of the kernel: "nvidia", "vfio-pci"; empty if none
    int numa_node = -1;   // -1 = unknown
    PciLink link;
};

// NVIDIA's cards that compute or draw, by address.
std::vector<PciCard> find_nvidia_cards(const std::string& root = "");

// The card at `address`, of any vendor ("0000:1B:00.0" is accepted too); nothing if the bus has
// none.
std::optional<PciCard> find_card(const std::string& address, const std::string& root = "");

}  // namespace tidemark
