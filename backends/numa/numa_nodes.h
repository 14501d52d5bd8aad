// The memory nodes of this computer, as the kernel reports them: which processors and how much
// memory are close together, and how far the rest is.
//
// Read from /sys/devices/system/node. A kernel without NUMA, or a container that hides it, gives
// one node with everything. Plain values; O(nodes + processors).
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

struct NumaNode {
    unsigned id = 0;
    Bytes total = 0;
    Bytes free = 0;                   // unused
    Bytes available = 0;              // free, plus what only caches files
    std::vector<unsigned> cpus;       // none: only memory
    std::vector<unsigned> distances;  // to each node of the list, in its order; 10 = itself
};

struct HostNodes {
    std::vector<NumaNode> nodes;   // by id; never empty
    bool known_by_kernel = false;  // false: we made up the one node for the whole machine

    // The node of that id, or null.
    const NumaNode* find(unsigned id) const;
};

// `root` is used instead of "/" (sys_files.h).
HostNodes read_host_nodes(const std::string& root = "");

}  // namespace tidemark
