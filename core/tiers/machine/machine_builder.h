// Building a machine: from what was found on a computer to the spaces for an engine or a
// simulation. Plain values; thread-safe; O(spaces^2).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"

namespace tidemark {

// A connection. No bandwidth: it does not exist.
struct FoundLink {
    double bytes_per_second = 0;
    Nanoseconds latency = 0;
    Nanoseconds overhead = 0;
};

struct FoundGpu {
    std::int32_t id = 0;     // the ordinal
    Bytes memory = 0;        // physical
    std::int32_t node = -1;  // that it is nearest to; -1: unknown, the first node is used
    FoundLink to_host = {};
    FoundLink from_host = {};
    double both =
        0;  // bytes per second of both directions together; 0: each gets its own bandwidth
};

// Between two GPUs, or two nodes, one direction.
struct FoundPeer {
    std::int32_t source = 0;
    std::int32_t target = 0;
    FoundLink link = {};
};

struct FoundNode {
    std::int32_t id = 0;
    Bytes memory = 0;
};

struct FoundDisk {
    Bytes capacity = 0;  // that may be written
    std::vector<std::string> directories = {};
    FoundLink write = {};
    FoundLink read = {};
    double both = 0;  // bytes per second of both at once; 0: not known
};

// The memory of a computer.
struct FoundMachine {
    std::string name;
    std::vector<FoundGpu> gpus = {};
    std::vector<FoundPeer> peers = {};
    std::vector<FoundNode> nodes = {};  // at least one
    std::vector<FoundPeer> node_links = {};
    std::vector<FoundDisk> disks = {};  // in order of their numbers, from 0
};

// The machine of these GPUs (by id, each once; none: all) and of what was found around them; it
// passes MachineSpec::validate. GPUs and disks have all their memory. There is a host space for
// each node with a GPU (without GPUs: for all nodes), with half of its memory, in pinned blocks.
// Links connect every GPU with every host space, the host spaces with the disks, GPUs that are
// peers, and host spaces whose nodes are linked. Connections that several links share are buses:
// the slot of a GPU (each direction, or both together if their joint bandwidth is known), and a
// disk's reads and writes together, which get the bandwidth of the faster one alone if nothing else
// is known. Errors: bad_option for a GPU that does not exist or is listed twice; bad_input: what
// was found contradicts itself.
Result<MachineSpec> build_machine(const FoundMachine& found,
                                  std::span<const std::int32_t> gpus = {});

}  // namespace tidemark
