// Programs: which running programs publish on this computer, read from the files that they share,
// without disturbing them. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"
#include "traces/live/clock.h"
#include "traces/live/wire.h"

namespace tidemark::live {

// The second page of a shared file and the state of its rings, copied at one moment.
struct ProgramCounters {
    std::uint64_t sequence = 0;    // records published
    std::uint64_t written = 0;     // of them, in the recording
    std::uint64_t dropped = 0;     // not published, or lost on the way
    std::uint64_t unreported = 0;  // of those, without a record that reports them
    std::uint64_t forgotten = 0;
    std::uint32_t first_segment = 0;
    std::uint32_t last_segment = 0;
    std::uint32_t failures = 0;
    std::uint32_t rings_used = 0;
    bool closed = false;
    double fullest_ring = 0;  // the share of it that has yet to be recorded
    ClockPair clock;          // the last complete one; {} = none
};

struct LiveProgram {
    std::string path;  // of the shared file
    Header header;
    ProgramCounters counters;
    bool alive = false;
    Nanoseconds age = 0;  // since it began to publish

    std::uint32_t process() const { return header.process; }

    std::string name() const { return text_of(header.name); }

    std::string recording() const { return text_of(header.recording); }
};

// Reads up to `target.size()` bytes at `offset` of a shared file; less at its end.
using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> target)>;

// From a shared file that `read` reads. Errors: those of parse_header. Whatever the file contains,
// its values are bounded by what a file can hold.
Result<LiveProgram> parse_program(const ReadAt& read, const std::string& path);

// The first two lines of a ring's control; nothing if they are missing.
struct RingCounters {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    std::uint64_t dropped = 0;
    std::uint64_t reported = 0;
};

std::optional<RingCounters> read_ring(const ReadAt& read, const Header& header, std::uint32_t ring);

// A program and its shared file, all from one descriptor.
struct OpenProgram {
    LiveProgram program;
    FileDescriptor file;

    // Doesn't read what was never written: a file without memory behind it ends there. Must not
    // outlive this.
    ReadAt reader() const;
};

// The shared file at `shared_path`, which is in one of the user's own folders. Errors: those of
// OwnFolder and of parse_program.
Result<OpenProgram> open_program(const std::string& shared_path);

// The same, for callers that need no more than that.
Result<LiveProgram> read_program(const std::string& shared_path);

// All programs in the runtime folders, including dead ones that nobody has recovered, in order of
// process id. Unusable files (another version, a broken file, another user's, not a file at all)
// are left out; `skipped` is told what they are and why, and which folders can't be searched.
std::vector<LiveProgram> list_programs(std::vector<Error>* skipped = nullptr);

// The program that `text` names: a process id, or a program's name or the start of it. Errors:
// not_found, with a list of the available ones and what was skipped; bad_option: several have that
// name.
Result<LiveProgram> find_program(std::string_view text);

// Whether a program is still running: its process exists and is the same one.
bool is_alive(const Header& header);

}  // namespace tidemark::live
