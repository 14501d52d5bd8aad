// The remainder of a dead program: what it had published and its recorder had not yet written. It
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
    std::uint64_t events = 0;  // records but names, `lost` and `end`
    std::uint64_t lost = 0;    // records that were dropped and not yet reported, or never finished
};

// From the bytes of a shared file, from sequence `next` on, at times that are not before `latest`.
// Whatever the bytes are: damaged rings give what is whole. O(bytes).
Remainder read_remainder(std::span<const std::byte> shared, const LiveProgram& program,
                         std::uint64_t next, Nanoseconds latest);

// Where the recording of a dead program stops, by its last file.
struct RecordedEnd {
    std::string path;          // of the last file
    std::uint64_t offset = 0;  // of what follows the last whole chunk
    std::uint64_t next = 0;    // the sequence that follows
    Nanoseconds latest = 0;
    bool ended = false;  // there is an `end` already
};

// Errors: io; those of parse_header; bad_input: not this program's.
Result<RecordedEnd> find_end(const LiveProgram& program);

// Appends the remainder of a dead program to its recording and removes its shared file. One at a
// time: whoever comes second gets not_found. Errors: io; unsupported: the program lives.
Result<Remainder> recover(const LiveProgram& program);

// The whole of a file. Errors: io.
Result<std::vector<std::byte>> read_whole_file(const std::string& path);

}  // namespace tidemark::live
