// What stores blocks here: NVMe and SATA drives and arrays of them, and which of them a folder
// lies on.
//
// Read from /sys/block and /sys/dev/block under `root` (backends/numa/sys_files.h). Plain values;
// thread-safe; O(devices).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/topology/pci_path.h"
#include "core/base/units.h"

namespace tidemark {

enum class BlockKind : std::uint8_t {
    nvme,
    sata,
    raid,   // an array (md) of others
    other,  // virtual drives of a guest, USB, ...
};

std::string_view to_text(BlockKind kind);  // "nvme", "sata", "raid", "other"

struct BlockDevice {
    std::string name;  // "nvme0n1"
    BlockKind kind = BlockKind::other;
    Bytes capacity = 0;
    bool rotating = false;
    std::optional<PciPath> path;     // nothing for one that is no device of its own
    std::vector<std::string> parts;  // of an array: names of its drives, sorted
};

// Drives and arrays, by name: no partitions, loop devices, memory disks or mapped volumes.
std::vector<BlockDevice> find_block_devices(const std::string& root = "");

// The drive or array that `folder` lies on; a mapped volume counts as the first device that it is
// made of. Nothing if there is none: a network or memory file system, or a container's layers.
std::optional<BlockDevice> block_device_of(const std::string& folder, const std::string& root = "");

// Whether what `folder` holds lies in memory (tmpfs, ramfs), where there is nothing to spill to.
bool is_in_memory(const std::string& folder);

}  // namespace tidemark
