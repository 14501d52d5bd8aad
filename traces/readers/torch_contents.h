// The contents of a PyTorch snapshot after reading: the state at the dump, each device's trace, the
// annotations and the settings. Made from the records by following the lists of the snapshot's
// outermost dict, in which every record may occur once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "traces/readers/torch_records.h"

namespace tidemark::torch {

// A segment of the final state with its blocks: Contents::blocks[first_block ...].
struct FinalSegment {
    Segment record;
    std::size_t first_block = 0;
    std::size_t block_count = 0;
};

struct Contents {
    std::vector<FinalSegment> segments;    // by device and address
    std::vector<Block> blocks;             // by address within each segment
    std::vector<std::span<Entry>> traces;  // by device; into Records::entries or `moved`
    std::vector<Annotation> annotations;   // as in the file
    std::vector<std::pair<std::string, std::string>> settings;
    std::string source;  // "torch 2.9 to 2.11"
    std::size_t device_count = 1;
    bool has_host = false;               // the last device is the host's pinned memory
    std::size_t malformed_segments = 0;  // segments or blocks without address or size; left out
    GrowingArray<Entry> moved;           // entries of traces that aren't in the file's order
};

// `root` is the outermost object. Errors (bad_input, where = `name`): not a memory snapshot;
// records that several lists share (a snapshot has none, and they could make a small file endless).
Result<Contents> resolve(Records& records, Value root, const std::string& name);

}  // namespace tidemark::torch
