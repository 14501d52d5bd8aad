// Network cards that other computers' memory can be reached through (InfiniBand, RoCE), and which
// of them are near a GPU.
//
// Read from /sys/class/infiniband under `root` (backends/numa/sys_files.h). Plain values;
// thread-safe; O(cards * interfaces).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/topology/pci_path.h"

namespace tidemark {

// What a card must be to count. Each level implies those before it, so that stricter lists are
// parts of looser ones.
enum class NetworkLevel : std::uint8_t {
    exists,
    active,          // a port is up, and programs can open it (/dev/infiniband/uverbs*)
    active_with_ip,  // and one of its interfaces has an address
};

struct NetworkCard {
    std::string name;                           // "mlx5_0"
    std::optional<PciPath> path;                // nothing for one in software
    std::vector<std::string> interfaces;        // "ib0", sorted
    NetworkLevel level = NetworkLevel::exists;  // the strictest that it meets
};

struct NetworkQuestion {
    NetworkLevel level = NetworkLevel::active_with_ip;
    std::string root = {};
    // Interfaces that have an address; nothing: the kernel is asked.
    std::optional<std::vector<std::string>> with_address = {};
};

// By name.
std::vector<NetworkCard> find_network_cards(const NetworkQuestion& question = {});

struct NearCard {
    std::string name;
    PciDistance distance = PciDistance::system;
};

// The cards with a place on the bus, nearest to `gpu` first, then by name. The best are those with
// the first one's distance.
std::vector<NearCard> cards_near(const PciPath& gpu, const std::vector<NetworkCard>& cards);

}  // namespace tidemark
