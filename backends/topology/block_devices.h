// Which drive or array of drives a folder is on, and of what kind it is.
//
// Read from /sys/block and /sys/dev/block under `root` (backends/numa/sys_files.h). Plain values;
// thread-safe; O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tidemark {

enum class BlockKind : std::uint8_t {
    nvme,
    sata,
    raid,   // an array (md) of others
    other,  // virtual drives of a guest, USB, ...
};

struct BlockDevice {
    std::string name;  // "nvme0n1"
    BlockKind kind = BlockKind::other;
    bool rotating = false;
};

// The drive or array that `folder` is on; a mapped volume counts as the first device that it
// consists of. Nothing if there is none: a network or memory file system, or a container's layers.
std::optional<BlockDevice> block_device_of(const std::string& folder, const std::string& root = "");

// Whether the content of `folder` is in memory (tmpfs, ramfs), where spilling is pointless.
bool is_in_memory(const std::string& folder);

}  // namespace tidemark
