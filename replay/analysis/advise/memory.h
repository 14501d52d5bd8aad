// Where the memory went: the peak in figures that add up, and the call sites that hold the live
// memory.
//
// Pure functions of a PeakSnapshot; ties are broken by name, so that the same snapshot gives the
// same lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/analysis/advise/peak.h"
#include "replay/analysis/trace/sites.h"
#include "replay/facts/memory_parts.h"

namespace tidemark {

enum class HolderKind : std::uint8_t { site, operation, annotation, size };

std::string_view to_text(HolderKind kind);

// What is live at the two peaks and belongs to one site, operator, annotation or size class.
struct Holder {
    HolderKind kind = HolderKind::site;
    std::string name;  // "" = not recorded
    // Requested bytes that are live at the peak of reserved memory (PeakSnapshot::fullest), and at
    // the peak of allocated memory.
    Bytes at_reserved_peak = 0;
    Bytes at_allocated_peak = 0;
    std::uint64_t blocks = 0;  // at the latter
    std::uint32_t stack = 0;   // of the largest block: an example
    Bytes largest = 0;         // that block
};

// Memory of one stream and pool that others cannot have, by the site in the program.
struct StreamShare {
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    std::string site;  // a size class without stacks; "" = nothing next to it is in use
    Bytes bytes = 0;
    std::uint64_t blocks = 0;    // or holes
    bool record_stream = false;  // it waits because another stream was recorded to use it
};

// What one pool holds; the default pool is one.
struct PoolShare {
    PoolId pool = PoolId::default_pool;
    Bytes reserved = 0;
    Bytes in_use = 0;  // allocated or waiting
    std::uint64_t blocks = 0;
};

// "default pool", "pool (0, 1)" of a program, "graph pool (3, 0)" of a captured graph.
std::string pool_text(const TraceInfo& info, PoolId pool);

// "stream 3 (0x7f31a0)": the trace's number and the program's handle.
std::string stream_text(const TraceInfo& info, StreamId stream);

// Blocks that are pending free, where most of the peak is in use (PeakSnapshot::fullest), by the
// site that allocated them; most bytes first, at most `top`. O(live log live).
std::vector<StreamShare> waiting_blocks(const PeakSnapshot& snapshot, const TraceInfo& info,
                                        Sites& sites, std::size_t top);

// What was free at PeakSnapshot::growth for other streams of the request's pool (`other_pools`
// false) or for other pools, by the site of the largest block in the same segment. O(regions + live
// log live).
std::vector<StreamShare> kept_free(const PeakSnapshot& snapshot, bool other_pools, Sites& sites,
                                   std::size_t top);

// All pools at PeakSnapshot::fullest, most bytes first; empty if there is but the default one.
// O(regions).
std::vector<PoolShare> pool_shares(const PeakSnapshot& snapshot);

// At the peak of reserved memory, where most of it is in use (PeakSnapshot::fullest). O(regions +
// live log live).
facts::MemoryParts memory_parts(const PeakSnapshot& snapshot);

// Sites, operators and annotations as far as the trace has them, size classes where it has no
// sites; of each kind the largest `top`. O(live log live).
std::vector<Holder> holders(const PeakSnapshot& snapshot, const TraceInfo& info, Sites& sites,
                            std::size_t top);

}  // namespace tidemark
