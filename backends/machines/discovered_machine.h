// What was found on this computer, in the form from which a machine is built
// (core/tiers/machine/machine_builder.h).
//
// No driver reports the bandwidth of a link. It is estimated, unless it was measured: a PCI link
// gives 85 % of its transfers times its lanes (an H200 on PCIe 5.0 was measured at 87 %), an NVLink
// 85 % of 25 GB/s, a drive what drives of its kind do. The notes say for each figure whether it was
// reported, estimated, measured or assumed. Thread-safe; O(GPUs^2 + directories^2).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/topology/topology.h"
#include "core/tiers/machine/machine_builder.h"

namespace tidemark {

// The measured links of the GPUs of one product.
struct MeasuredLinks {
    std::string gpu;  // the product: "NVIDIA H200"
    FoundLink to_host = {};
    FoundLink from_host = {};
};

struct DiscoveryQuestion {
    std::string name = "this-computer";
    std::vector<std::string> directories = {};  // each is one disk, as large as its free space
    std::vector<MeasuredLinks> measured = {};
    std::string root = {};  // used instead of "/" for looking up drives
};

struct DiscoveredMachine {
    FoundMachine found;
    std::vector<std::pair<std::string, std::string>> notes;  // (what, how), as in DescribedMachine
};

// GPUs by ordinal, nodes that have memory, directories in their order. Errors: not_found: no such
// directory; bad_option: two directories are on one file system, or one has no space.
Result<DiscoveredMachine> discover_machine(const Topology& topology,
                                           const DiscoveryQuestion& question = {});

}  // namespace tidemark
