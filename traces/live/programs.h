// Programs: which living programs publish on this computer, read from the files they share, without
// their knowing. Thread-safe.
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

// The second page of a shared file and what its rings say, copied at one moment.
struct ProgramCounters {
    std::uint64_t sequence = 0;    // records published
    std::uint64_t written = 0;     // of them in the recording
    std::uint64_t dropped = 0;     // not published, or lost on the way
    std::uint64_t unreported = 0;  // of those, without a record that reports them
    std::uint64_t forgotten = 0;
    std::uint32_t first_segment = 0;
    std::uint32_t last_segment = 0;
    std::uint32_t failures = 0;
    std::uint32_t rings_used = 0;
    bool closed = false;
    double fullest_ring = 0;  // share of it that waits to be recorded
    ClockPair clock;          // the last one that is surely whole; {} = none
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

// From a shared file that `read` reads. Errors: those of parse_header. Whatever it holds is bounded
// by what a file can hold.
Result<LiveProgram> parse_program(const ReadAt& read, const std::string& path);

// What the first two lines of a ring's control say; nothing if they aren't there.
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

    // What was never written isn't read: a file without memory behind it is at its end there. Not
    // to outlive this.
    ReadAt reader() const;
};

// The shared file at `shared_path`, which lies in a folder of the user's own. Errors: those of
// OwnFolder and of parse_program.
Result<OpenProgram> open_program(const std::string& shared_path);

// The same, for who wants no more than that.
Result<LiveProgram> read_program(const std::string& shared_path);

// All programs in the runtime folders, dead ones that nobody has recovered included, in order of
// process. What can't be taken for one (another version, a broken file, somebody else's, no file at
// all) is left out; `skipped` is told what that is and why, and folders that can't be looked into.
std::vector<LiveProgram> list_programs(std::vector<Error>* skipped = nullptr);

// The one that `text` names: a process id, or a program's name, whole or the begin of it. Errors:
// not_found, with a list of those that can be had and what was skipped; bad_option: several have
// that name.
Result<LiveProgram> find_program(std::string_view text);

// Whether a program is still there: its process lives and is the same.
bool is_alive(const Header& header);

}  // namespace tidemark::live
