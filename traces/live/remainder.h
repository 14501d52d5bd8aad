// The remainder of a dead program: what it had published but its recorder had not yet written. It
// is still in the shared file; here it becomes the end of the recording.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/live/programs.h"
#include "traces/live/wire.h"

namespace tidemark::live {

struct Remainder {
    std::vector<Record> records;  // in order, with payloads, `lost` where some are missing; the
                                  // last is an `end` that says that the program died
    std::uint64_t first_sequence = 0;
    std::uint64_t next_sequence = 0;
    std::uint64_t events = 0;  // records except names, `lost` and `end`
    std::uint64_t lost = 0;    // records that were dropped and not yet reported, or never finished
};

// From a shared file that `read` reads, from sequence `next` on, at times that are not before
// `latest`. Whatever it contains: damaged rings give their complete records. Time and memory
// O(unrecorded content of the rings).
Remainder read_remainder(const ReadAt& read, const LiveProgram& program, std::uint64_t next,
                         Nanoseconds latest);

// Appends the remainder of a dead program to its recording and removes its shared file. Both are
// opened once, and must belong to this user only and to the same session: nothing else is ever
// written. One at a time: the second caller gets not_found. Errors: io, also if the recording is
// gone or belongs to somebody else; bad_input: what the header names is not a recording of this
// program; unsupported: the program is running, or somebody writes its recording.
Result<Remainder> recover(const LiveProgram& program);

}  // namespace tidemark::live
