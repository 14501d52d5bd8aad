// Rings without a writer, merged to their ends.
#include "traces/live/remainder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/io/own_folder.h"
#include "traces/live/merge.h"
#include "traces/live/recording_file.h"
#include "traces/live/runtime_folder.h"

namespace tidemark::live {
namespace {

// The rings of a shared file: of each, its unrecorded records in a row.
struct Rings {
    std::vector<std::vector<Record>> records;
    std::vector<RingSpan> spans;
};

// All readable ones, in pieces: the counters may have any value.
std::vector<Record> waiting_in(const ReadAt& read, const Header& header, std::uint32_t ring) {
    constexpr std::uint64_t kPiece = 4096;
    const std::uint64_t slots = ring_offset(header, ring) + sizeof(RingControl);
    std::vector<Record> records;
    const std::optional<RingCounters> counters = read_ring(read, header, ring);
    if (!counters || counters->head - counters->tail > header.ring_slots)
        return records;
    for (std::uint64_t next = counters->tail; next != counters->head;) {
        const std::uint64_t position = next & (header.ring_slots - 1U);
        const std::uint64_t count =
            std::min({counters->head - next, header.ring_slots - position, kPiece});
        const std::size_t before = records.size();
        records.resize(before + count);
        const std::size_t whole = read(slots + position * sizeof(Record),
                                       std::as_writable_bytes(std::span(records).subspan(before))) /
                                  sizeof(Record);
        records.resize(before + whole);
        if (whole != count)
            break;
        next += count;
    }
    return records;
}

Rings rings_of(const ReadAt& read, const LiveProgram& program) {
    Rings rings;
    for (std::uint32_t ring = 0; ring < program.counters.rings_used; ++ring)
        rings.records.push_back(waiting_in(read, program.header, ring));
    for (const std::vector<Record>& records : rings.records)
        rings.spans.push_back({records.data(), ~std::uint64_t{0}, 0, records.size()});
    return rings;
}

TickScale scale_of(const LiveProgram& program) {
    const Header& header = program.header;
    const auto bounded = [](Nanoseconds time) {
        return std::clamp<Nanoseconds>(time, 0, Nanoseconds{1} << 61U);
    };
    const ClockPair start{header.start_ticks, bounded(header.start_time)};
    const ClockPair last{program.counters.clock.ticks, bounded(program.counters.clock.time)};
    return {start, last.ticks > start.ticks ? last : start, start.time};
}

std::uint64_t count_events(std::span<const Record> records) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < records.size();) {
        if (!is_name(records[at].kind) && records[at].kind != RecordKind::lost)
            ++count;
        at += 1 + static_cast<std::size_t>(payload_slots(records[at]));
    }
    return count;
}

// Where the recording of a dead program stops, by its last file.
struct RecordedEnd {
    RecordingFile file;      // the last one, for reading and writing, locked
    std::uint64_t next = 0;  // the sequence that follows
    Nanoseconds latest = 0;
    bool ended = false;  // there is an `end` already

    // The number of bytes after the last complete chunk.
    std::uint64_t offset() const { return file.offset(); }
};

// False: somebody else has it. A killed program keeps it until the last of its threads is gone,
// which can be a while after the first, by which it is known as dead. This waits for that long.
bool lock(const FileDescriptor& file) {
    constexpr int kTries = 300;
    constexpr auto kRest = std::chrono::milliseconds(10);
    for (int i = 0; i < kTries; ++i) {
        if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return true;
        std::this_thread::sleep_for(kRest);
    }
    return false;
}

// The last file of the recording, if it belongs to this program and only to this user. Whoever
// writes it has its lock, even if its process can't be seen from here.
Result<RecordingFile> open_last(const LiveProgram& program) {
    const std::string path =
        segment_path(program.header, std::max(program.counters.last_segment, 1U));
    Result<FileDescriptor> opened = open_own_file(path, O_RDWR);
    if (!opened && opened.error().code == ErrorCode::not_found)
        return fail(ErrorCode::io, "is gone, so there is no place for the program's last events",
                    path, "remove " + program.path + " if they aren't needed");
    if (!opened)
        return tl::make_unexpected(opened.error());
    TM_ASSIGN(RecordingFile file, RecordingFile::of(std::move(*opened), path));
    if (file.header().session != program.header.session)
        return fail(ErrorCode::bad_input, "is the recording of another program", path);
    if (!lock(file.descriptor()))
        return fail(ErrorCode::unsupported, "is being written by another program", path);
    return file;
}

Result<RecordedEnd> find_end(const LiveProgram& program) {
    TM_ASSIGN(RecordingFile file, open_last(program));
    RecordedEnd end{.file = std::move(file)};
    end.next = end.file.header().first_sequence;
    for (;;) {
        const Result<FoundChunk> chunk = end.file.next();
        if (!chunk || !chunk->whole)
            break;  // a broken end is overwritten
        if ((chunk->chunk.flags & kSnapshot) == 0)
            end.next = chunk->chunk.next_sequence;
        for (std::size_t at = 0; at < chunk->chunk.slots;) {
            const Record record = slot_at(chunk->slots, at);
            end.ended = end.ended || record.kind == RecordKind::end;
            if ((chunk->chunk.flags & kSnapshot) == 0)
                end.latest = static_cast<Nanoseconds>(record.time);
            at += 1 + static_cast<std::size_t>(
                          std::min<std::uint64_t>(payload_slots(record), kMostChunkSlots));
        }
    }
    return end;
}

Result<void> write_remainder(const RecordedEnd& end, const Remainder& rest) {
    const FileDescriptor& file = end.file.descriptor();
    if (::ftruncate(file.get(), static_cast<off_t>(end.offset())) != 0)
        return io_error("cannot be written", end.file.path());
    std::uint64_t offset = end.offset();
    const auto put = [&](std::span<const std::byte> bytes) {
        const int code = file.write_at(offset, bytes);
        offset += bytes.size();
        return code;
    };
    std::span<const Record> left = rest.records;
    while (!left.empty()) {
        const std::span<const Record> piece = left.first(whole_records(left));
        left = left.subspan(piece.size());
        Chunk chunk{.first_sequence = piece.front().sequence,
                    .next_sequence = left.empty() ? rest.next_sequence : left.front().sequence};
        seal(chunk, piece);
        int code = put(std::as_bytes(std::span(&chunk, 1)));
        code = code == 0 ? put(std::as_bytes(piece)) : code;
        if (code != 0)
            return io_error("cannot be written", end.file.path(), code);
    }
    return {};
}

}  // namespace

Remainder read_remainder(const ReadAt& read, const LiveProgram& program, std::uint64_t next,
                         Nanoseconds latest) {
    Rings rings = rings_of(read, program);
    const TickScale scale = scale_of(program);
    Merger merger;
    merger.begin_at(next);
    merger.not_before(latest);
    Remainder rest;
    rest.first_sequence = next;
    std::uint64_t missing = 0;
    for (;;) {
        constexpr std::size_t kNoEnd = ~std::size_t{0};
        const bool gap = merger.merge(rings.spans, scale, kNoEnd, rest.records);
        if (!gap)
            break;
        const std::uint64_t before = merger.next();
        merger.skip_gap(rings.spans);
        if (merger.next() == before)
            break;
        // Numbers without a record: their threads died between taking and writing.
        rest.records.push_back({.sequence = before,
                                .time = merger.latest(),
                                .size = merger.missing() - missing,
                                .kind = RecordKind::lost});
        missing = merger.missing();
    }
    const std::uint64_t unreported = program.counters.unreported;
    rest.events = count_events(rest.records);
    rest.lost = missing + unreported;
    if (unreported != 0)
        rest.records.push_back({.sequence = merger.next(),
                                .time = merger.latest(),
                                .size = unreported,
                                .kind = RecordKind::lost});
    rest.records.push_back(
        {.sequence = merger.next(), .time = merger.latest(), .extra = 1, .kind = RecordKind::end});
    rest.next_sequence = merger.next() + 1;
    return rest;
}

Result<Remainder> recover(const LiveProgram& program) {
    const std::filesystem::path path(program.path);
    TM_ASSIGN(const OwnFolder folder, open_live_folder(path.parent_path().string()));
    OpenProgram left;
    TM_ASSIGN(left.file, folder.open_file(path.filename().string(), O_RDONLY));

    struct stat status {};

    if (::flock(left.file.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstat(left.file.get(), &status) != 0 || status.st_nlink == 0)
        return fail(ErrorCode::not_found,
                    "is being recovered by another program, or has been already", program.path);
    TM_ASSIGN(left.program, parse_program(left.reader(), program.path));
    if (left.program.header.session != program.header.session)
        return fail(ErrorCode::not_found, "belongs to another program by now", program.path);
    if (is_alive(left.program.header))
        return fail(ErrorCode::unsupported,
                    "the program is still running: there is nothing to recover", program.path);
    TM_ASSIGN(const RecordedEnd end, find_end(left.program));
    Remainder rest;
    if (!end.ended) {
        rest = read_remainder(left.reader(), left.program, end.next, end.latest);
        TM_TRY(write_remainder(end, rest));
    }
    if (::unlinkat(folder.descriptor(), path.filename().c_str(), 0) != 0)
        return io_error("cannot be removed", program.path);
    return rest;
}

}  // namespace tidemark::live
