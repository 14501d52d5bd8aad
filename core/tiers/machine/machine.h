// Machine: the memory spaces of a computer (its GPUs, host nodes and disks) and the links between
// them, as plain values: what a simulation needs to know, and what a real engine is built from.
//
// All thresholds are defined in one way: as fractions of a space's capacity, compared with the
// bytes used in it, where used = allocated bytes + reserved bytes that are not allocated yet.
// cuCascade mixes two definitions (specs A1.2): there the trigger moves when the limit does.
// Values; thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// Kinds of memory, fastest first.
enum class Tier : std::uint8_t { gpu = 0, host = 1, disk = 2 };
constexpr int kTierCount = 3;

std::string_view to_text(Tier tier);  // "gpu", "host", "disk"

// A space: the GPU's ordinal, the host's NUMA node, the disk's number.
struct SpaceId {
    Tier tier = Tier::gpu;
    std::int32_t index = 0;

    friend auto operator<=>(const SpaceId&, const SpaceId&) = default;
};

std::string to_text(SpaceId id);  // "gpu:0", "host:1", "disk:0"

// Errors (bad_option): not "TIER:NUMBER".
Result<SpaceId> parse_space_id(std::string_view text);

// No space is larger: up to this size a fraction can name every number of bytes exactly.
constexpr Bytes kLargestSpace = Bytes{1} << 52;

// Thresholds of a space in whole bytes. A fraction is the decimal that was written, and partial
// bytes are dropped: 0.29 of 100 bytes is 29, 0.85 of 101 is 85.
struct Thresholds {
    Bytes limit = 0;        // reservations are granted while used + request <= limit
    Bytes spill_start = 0;  // spilling in the background begins when used > spill_start,
    Bytes spill_stop = 0;   // and continues until used <= spill_stop
};

struct SpaceSpec {
    SpaceId id = {};
    Bytes capacity = 0;
    Bytes granularity = 1;                // sizes are rounded up to multiples of it; a power of two
    double reservation_limit = 1;         // fractions of the capacity
    double spill_start = 1;               // 1: never in the background
    double spill_stop = 1;                // at most spill_start
    Bytes block = 1_MiB;                  // host: pinned blocks that copies go through
    std::uint32_t blocks_per_pool = 128;  // host: number of blocks by which a pool grows
    std::uint32_t initial_pools = 4;      // host
    std::vector<std::string> directories =
        {};  // disk: striped over them; at least one for real use

    // O(1).
    Thresholds thresholds() const;
};

// One direction between two spaces. Copies of a link run one after another; a copy of n bytes keeps
// it busy for overhead + n / bytes_per_second, and arrives `latency` later.
struct LinkSpec {
    SpaceId source;
    SpaceId target;
    double bytes_per_second = 0;
    Nanoseconds overhead = 0;
    Nanoseconds latency = 0;
    // What it shares with others: links of the same bus together get at most the bus's bandwidth.
    // Both directions of a half-duplex link are on one bus. Empty: none.
    std::string bus = {};
};

struct BusSpec {
    std::string name;
    double bytes_per_second = 0;
};

struct MachineSpec {
    std::string name;
    std::vector<SpaceSpec> spaces;  // in order of SpaceId, each once
    std::vector<LinkSpec> links;
    std::vector<BusSpec> buses;

    // Null if there is none. O(spaces), O(links).
    const SpaceSpec* space(SpaceId id) const;
    const LinkSpec* link(SpaceId source, SpaceId target) const;

    // Whether it is consistent: fractions in (0, 1], stop <= start, spaces sorted and unique, links
    // between spaces that exist, named buses that exist, bandwidths of at least a byte per second.
    // Errors (bad_input) name the field of the space or link: "/spaces/1/capacity".
    Result<void> validate() const;
};

// `fraction` (0 to 1) of `capacity`, as above. O(1).
Bytes bytes_of_fraction(double fraction, Bytes capacity);

// The fraction of `capacity` that gives `part` to the byte; both as in a space, 0 < part <=
// capacity. The one with the fewest digits if 6 suffice. O(1).
double fraction_of_bytes(Bytes part, Bytes capacity);

// How long a copy of `size` bytes keeps `link` busy, without its latency; at most centuries. O(1).
Nanoseconds transfer_time(const LinkSpec& link, Bytes size);

}  // namespace tidemark
