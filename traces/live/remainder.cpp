// Rings without a writer, merged to their ends.
#include "traces/live/remainder.h"

#include <algorithm>
#include <cstddef>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/io/file_descriptor.h"
#include "traces/live/merge.h"
#include "traces/live/recording_file.h"

namespace tidemark::live {
namespace {

template <class T>
T word_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    T value{};
    if (offset <= bytes.size() && bytes.size() - offset >= sizeof value)
        std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// The rings of a shared file, their slots copied to where they are aligned.
struct Rings {
    std::vector<std::vector<Record>> slots;
    std::vector<RingSpan> spans;
};

Rings rings_of(std::span<const std::byte> shared, const LiveProgram& program) {
    Rings rings;
    const Header& header = program.header;
    rings.slots.resize(program.counters.rings_used);
    for (std::uint32_t ring = 0; ring < program.counters.rings_used; ++ring) {
        const std::uint64_t at = ring_offset(header, ring);
        const std::uint64_t size = header.ring_slots * sizeof(Record);
        if (shared.size() < at || shared.size() - at < sizeof(RingControl) + size)
            break;
        const auto head = word_at<std::uint64_t>(shared, at + offsetof(RingControl, head));
        const auto tail = word_at<std::uint64_t>(shared, at + offsetof(RingControl, tail));
        rings.slots[ring].resize(header.ring_slots);
        std::memcpy(rings.slots[ring].data(), shared.data() + at + sizeof(RingControl), size);
        const RingSpan span{rings.slots[ring].data(), header.ring_slots - 1U, tail, head};
        if (span.sound())
            rings.spans.push_back(span);
    }
    return rings;
}

TickScale scale_of(const LiveProgram& program) {
    const Header& header = program.header;
    const ClockPair start{header.start_ticks, header.start_time};
    const ClockPair& last = program.counters.clock;
    return {start, last.ticks > start.ticks ? last : start, header.start_time};
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

Result<void> write_remainder(const RecordedEnd& end, const Remainder& rest) {
    const FileDescriptor file(::open(end.path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(end.offset)) != 0)
        return io_error("cannot be written", end.path);
    std::uint64_t offset = end.offset;
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
            return io_error("cannot be written", end.path, code);
    }
    return {};
}

}  // namespace

Remainder read_remainder(std::span<const std::byte> shared, const LiveProgram& program,
                         std::uint64_t next, Nanoseconds latest) {
    Rings rings = rings_of(shared, program);
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
        // Numbers that no record has: their threads died between taking and writing.
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

Result<RecordedEnd> find_end(const LiveProgram& program) {
    RecordedEnd end;
    end.path = segment_path(program.header, std::max(program.counters.last_segment, 1U));
    TM_ASSIGN(RecordingFile file, RecordingFile::open(end.path));
    if (file.header().session != program.header.session)
        return fail(ErrorCode::bad_input, "is the recording of another program", end.path);
    end.next = file.header().first_sequence;
    for (;;) {
        const Result<FoundChunk> chunk = file.next();
        if (!chunk || !chunk->whole)
            break;  // what is broken at the end is written anew
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
    end.offset = file.offset();
    return end;
}

Result<Remainder> recover(const LiveProgram& program) {
    if (is_alive(program.header))
        return fail(ErrorCode::unsupported, "the program lives: nothing is to be recovered",
                    program.path);
    const FileDescriptor lock(::open(program.path.c_str(), O_RDONLY | O_CLOEXEC));

    struct stat status {};

    if (!lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        ::fstat(lock.get(), &status) != 0 || status.st_nlink == 0)
        return fail(ErrorCode::not_found, "is being recovered by somebody else, or has been",
                    program.path);
    TM_ASSIGN(const RecordedEnd end, find_end(program));
    Remainder rest;
    if (!end.ended) {
        TM_ASSIGN(const std::vector<std::byte> shared, read_whole_file(program.path));
        rest = read_remainder(shared, program, end.next, end.latest);
        TM_TRY(write_remainder(end, rest));
    }
    if (::unlink(program.path.c_str()) != 0)
        return io_error("cannot be removed", program.path);
    return rest;
}

Result<std::vector<std::byte>> read_whole_file(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));

    struct stat status {};

    if (!file.valid() || ::fstat(file.get(), &status) != 0)
        return io_error("cannot be opened", path);
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    TM_ASSIGN(const std::size_t count, file.read_at(0, bytes, path));
    bytes.resize(count);
    return bytes;
}

}  // namespace tidemark::live
