// RecordedMemory: what a recording of a running program (.tml) says about memory from the driver,
// with the times of a clock that all recordings of one computer share. A Trace has each byte once;
// here every mapping is kept, with where its bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "traces/live/wire.h"
#include "traces/model/tables.h"

namespace tidemark {

enum class RecordedLevel : std::uint8_t {
    driver,     // `tidemark record`: allocations are memory
    framework,  // tidemark.torch: segments are memory, allocations are parts of them
};

// Memory, or a mapping of it, while it was there.
struct RecordedRange {
    static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t home = 0;  // of a mapping: where its bytes are; 0: here
    Nanoseconds begin = 0;
    Nanoseconds end = kNever;
    std::uint32_t tag = 0;   // of `strings`
    std::uint32_t pool = 0;  // dense; 0 = the default pool
    std::uint8_t device = 0;
    bool is_mapping = false;
};

struct RecordedMemory {
    live::Header header;
    Nanoseconds start = 0;   // when its program started to record
    Nanoseconds first = 0;   // the recording knows what happened from here
    Nanoseconds last = 0;    // to here
    std::uint64_t lost = 0;  // events that are missing between
    StringTable strings;
    // What all processes used of a device when the recording ended, by device, if it says so.
    std::map<std::uint8_t, Bytes> used;
    std::vector<RecordedRange> ranges;  // in the order in which they began
};

// The recording at `path`, with the pieces that follow it. Of a mapping that is undone in part, all
// of it ends. Errors: io, bad_input. O(records log ranges).
Result<RecordedMemory> read_recorded_memory(const std::string& path, RecordedLevel level);

}  // namespace tidemark
