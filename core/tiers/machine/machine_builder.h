// Building a machine: from what was found on a computer, and what is wanted of it, to the spaces
// that an engine or a simulation works with.
//
// A fraction and a number of bytes are different types, and say of what they are: capacities of the
// physical memory, thresholds of the configured capacity. (cuCascade turns a limit in bytes into a
// fraction of the physical memory and then multiplies it with the configured one: of 80 GiB with 8
// configured, a limit of 6 becomes 0.6. Specs A1.13.) Every argument is checked, always.
// Plain values; thread-safe; O(spaces^2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine/machine.h"

namespace tidemark {

// A way for bytes. No bandwidth: there is no such way.
struct FoundLink {
    double bytes_per_second = 0;
    Nanoseconds latency = 0;
    Nanoseconds overhead = 0;
};

struct FoundGpu {
    std::int32_t id = 0;     // the ordinal
    Bytes memory = 0;        // physical
    std::int32_t node = -1;  // that it is nearest to; -1: not told, the first node is taken
    FoundLink to_host = {};
    FoundLink from_host = {};
    double both =
        0;  // bytes per second of both directions at once; 0: each gets what it gets alone
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

// A computer, as far as its memory goes.
struct FoundMachine {
    std::string name;
    std::vector<FoundGpu> gpus = {};
    std::vector<FoundPeer> peers = {};
    std::vector<FoundNode> nodes = {};  // at least one
    std::vector<FoundPeer> node_links = {};
    std::vector<FoundDisk> disks = {};  // in order of their numbers, from 0
};

struct Fraction {
    double value = 1;
};

using Amount = std::variant<Bytes, Fraction>;

// One set of defaults, which is SpaceSpec's.
struct WantedThresholds {
    Amount reservation_limit = Fraction{1};  // of the configured capacity, as both below
    Amount spill_start = Fraction{1};
    Amount spill_stop = Fraction{1};
};

struct WantedGpus {
    // At most one of them: the first so many, or those. Neither: all there are.
    std::optional<std::size_t> count = {};  // at least 1
    std::vector<std::int32_t> ids = {};     // each once
    Amount capacity = Fraction{1};          // of each, out of its physical memory
    WantedThresholds thresholds = {};
};

struct WantedHosts {
    enum class Spaces : std::uint8_t {
        per_node,  // one for each distinct node of the chosen GPUs (without GPUs: of all)
        per_gpu,   // one for each chosen GPU, of its number; they share their node's memory evenly;
                   // without GPUs: as per_node
    };
    Spaces spaces = Spaces::per_node;
    // At most one of them; neither: half of the memory that a space could have, as each.
    std::optional<Amount> each = {};   // of each space, out of the memory that it could have
    std::optional<Amount> total = {};  // of all of them, divided evenly, a rest is dropped
    WantedThresholds thresholds = {};
    Bytes block = 1_MiB;
    std::uint32_t blocks_per_pool = 128;
    std::optional<std::uint32_t> initial_pools = {};  // nothing: 4, or as many as fit
};

struct WantedDisks {
    Amount capacity = Fraction{1};  // of each, out of what may be written
    WantedThresholds thresholds = {};
};

struct WantedMachine {
    std::string name = {};  // "": the computer's
    WantedGpus gpus = {};
    WantedHosts hosts = {};
    WantedDisks disks = {};
};

// The machine that is wanted, out of what was found; it passes MachineSpec::validate. Links lead
// between every chosen GPU and every host space (per_gpu: its own), the host spaces and the disks,
// the GPUs that are peers, and host spaces that are linked nodes (per_node). Ways that several
// links share are buses: what a GPU is plugged in with (each direction, or both together if it is
// known what they get), and a disk's reads and writes together, which get what the faster of the
// two does alone if nothing else is known.
// Errors: bad_option, whose `where` is the member of WantedMachine ("gpus.capacity"); bad_input:
// what was found contradicts itself.
Result<MachineSpec> build_machine(const WantedMachine& wanted, const FoundMachine& found);

}  // namespace tidemark
