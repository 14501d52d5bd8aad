// The memory nodes of this computer, as the kernel tells them: which processors and how much
// memory are near each other, and how far the rest is.
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
    Bytes free = 0;                   // used by nothing
    Bytes available = 0;              // free, and what only caches files
    std::vector<unsigned> cpus;       // none: memory alone
    std::vector<unsigned> distances;  // to each node of the list, in its order; 10 = itself
};

struct HostNodes {
    std::vector<NumaNode> nodes;   // by id; never empty
    bool known_by_kernel = false;  // false: the one node is our own word for the whole machine

    // The node of that id, or null.
    const NumaNode* find(unsigned id) const;
};

// `root` stands for "/" (sys_files.h).
HostNodes read_host_nodes(const std::string& root = "");

}  // namespace tidemark
