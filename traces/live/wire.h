// The wire format of running programs, version 1, described in docs/format-live.md: records of 48
// bytes, which the program's threads write into rings of a shared file, and from there into a
// recording (.tml). Little-endian; the structures below are the bytes.
//
// Pure functions over bytes, thread-safe. Foreign bytes are not trusted: parse_header and
// find_chunk refuse what is wrong, payload_slots is bounded.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "traces/io/file_kind.h"

namespace tidemark::live {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kVersion = 1;

enum class RecordKind : std::uint8_t {
    none = 0,
    allocate = 1,  // address, size = requested, extra = granted
    free = 2,      // address, size = granted
    // size = requested, extra = OutOfMemory::Cause, address = bytes that the device had free (0 =
    // not known)
    refused = 3,
    record_use = 4,  // address
    trim = 5,
    // A free in two steps, address, size = requested: the program frees the block, and the device
    // has finished with the bytes. The second may follow immediately.
    free_requested = 6,
    free_completed = 7,
    segment_alloc = 8,  // address, size: this and what follows in the order of SegmentChange
    segment_free = 9,
    reserve = 10,
    unreserve = 11,
    map = 12,    // extra = where the same memory is mapped already and counts; 0 = it counts here
    unmap = 13,  // extra as map
    // Something that ran on the device touched a block: address, size = kUseReads | kUseWrites |
    // kUsePerhaps, extra = launch (a number of its own), the site's tag = its name. Address 0: it
    // touched no known block or, with kUsePerhaps, it isn't known what it touched.
    use = 14,
    // The device ran a launch, or one of the kernels of a launched graph: address = when it began,
    // ns since the program's start, size = its duration in ns, extra = the launch, the site's tag =
    // its name. Comes when that is known, after the launch's uses.
    execution = 15,
    range_begin = 16,  // extra = string
    range_end = 17,    // extra = string
    mark = 18,         // extra = string
    lost = 19,         // size = this many records of this ring are missing before this one
    end = 20,          // the last: extra = 1 if the program died, 0 if it closed the recording
    // The site's tag is the operator that makes the device's next allocation, and the shapes of its
    // arguments.
    operation = 21,

    // Names. `site` says which one is defined; `size` bytes or frames follow in slots of their own.
    string = 32,  // size = bytes
    stack = 33,   // size = frames of 12 bytes: u32 name (string), u32 file (string), u32 line
    site = 34,    // address = tag (string), size = stack, extra = pool
    stream = 35,  // stream = number, extra = the program's handle
    // A fact about the program or its allocator: address = key, size = value (strings), extra =
    // kOfAllocator or 0.
    setting = 36,

    // What is live at the start of a segment of a recording, or when its program starts to report.
    live_block = 48,    // as allocate
    live_segment = 49,  // as segment_alloc
    live_range = 50,    // as range_begin
    live_mapping = 51,  // as map
    live_retired = 52,  // as live_block; its free is requested
};

// One slot of a ring or of a chunk.
struct Record {
    std::uint64_t sequence = 0;  // each number once in a program; the order of what happened
    std::uint64_t time = 0;      // in rings ticks; in recordings ns since the program's start
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint64_t extra = 0;
    std::uint32_t site = 0;    // ring << 20 | number; a number of 0: nothing is known
    std::uint16_t stream = 0;  // a number of the same ring; 0 = the default stream
    RecordKind kind = RecordKind::none;
    std::uint8_t device = 0;
};

static_assert(sizeof(Record) == 48 && std::is_trivially_copyable_v<Record>);

// How the records of one moment differ: a kernel's uses of its buffers.
struct RecordPart {
    std::uint64_t address;
    std::uint64_t size;
    std::uint8_t device;
};

constexpr std::uint32_t kNumberBits = 20;  // of a name's id; the ring is above them
constexpr std::uint32_t kMostNumbers = 1U << kNumberBits;
// For a string that is redefined for each mark or end of a range that uses it.
constexpr std::uint32_t kPassingNumber = kMostNumbers - 1;
constexpr std::uint32_t kMostRings = 1U << (32 - kNumberBits);
constexpr std::size_t kMostText = 4096;  // bytes of a string; longer ones are cut
constexpr std::size_t kMostFrames = 256;
constexpr std::size_t kFrameSize = 12;

// Slots of raw bytes that follow `record`; 0 for everything except strings and stacks. kBadPayload
// if it is more than a string or stack may have.
constexpr std::uint64_t kBadPayload = ~std::uint64_t{0};

inline std::uint64_t payload_slots(const Record& record) {
    std::uint64_t bytes = 0;
    if (record.kind == RecordKind::string) {
        if (record.size > kMostText)
            return kBadPayload;
        bytes = record.size;
    } else if (record.kind == RecordKind::stack) {
        if (record.size > kMostFrames)
            return kBadPayload;
        bytes = record.size * kFrameSize;
    }
    return (bytes + sizeof(Record) - 1) / sizeof(Record);
}

// How many of `slots` fit into one chunk, no record cut from its payload.
std::size_t whole_records(std::span<const Record> slots);

// A definition, on which everything after it may rely.
constexpr bool is_name(RecordKind kind) {
    return kind >= RecordKind::string && kind <= RecordKind::setting;
}

// A name that only the records right after it use.
constexpr bool is_passing(const Record& record) {
    return record.kind == RecordKind::string && (record.site & kPassingNumber) == kPassingNumber;
}

// Describes what is live, not what happens.
constexpr bool is_live(RecordKind kind) {
    return kind == RecordKind::live_block || kind == RecordKind::live_retired ||
           kind == RecordKind::live_segment || kind == RecordKind::live_mapping;
}

constexpr std::uint64_t kOfAllocator = 1;  // Record::extra of a setting
constexpr std::uint64_t kUseReads = 1;     // Record::size of a use
constexpr std::uint64_t kUseWrites = 2;
constexpr std::uint64_t kUsePerhaps = 4;

constexpr std::size_t kMostDevices = 16;

struct DeviceEntry {
    std::uint64_t capacity = 0;
    std::array<char, 56> name{};
};

// The first page of the shared file and of each segment of a recording. Texts end with a zero.
struct Header {
    std::array<unsigned char, 8> magic{};
    std::uint32_t version = kVersion;
    std::uint32_t size = 4096;        // of this header
    std::uint64_t session = 0;        // the same in all files of one program; never 0
    std::uint32_t process = 0;        // its id
    std::uint32_t flags = 0;          // kSteadyTicks, kSegmented
    std::uint64_t process_start = 0;  // as in /proc/PID/stat; 0 = unknown
    std::int64_t unix_time = 0;       // ns, at the start
    std::int64_t start_time = 0;      // ns of the monotonic clock, at the start
    std::uint64_t start_ticks = 0;
    std::uint32_t rings = 0;       // shared file only
    std::uint32_t ring_slots = 0;  // a power of two
    std::uint32_t segment = 0;     // recording only: from 1 on
    std::uint32_t devices = 0;
    std::uint64_t first_sequence = 0;  // recording only: of the segment's first event
    std::uint64_t forgotten = 0;       // recording only: records in segments that are gone
    std::array<char, 64> name{};
    std::array<char, 128> shared_file{};  // its name in the runtime folder
    std::array<char, 1024> recording{};   // the path of the recording
    std::array<DeviceEntry, kMostDevices> device{};
    std::array<std::byte, 1752> reserved{};  // zeros
    std::uint64_t checksum = 0;              // of everything before it
};

static_assert(sizeof(Header) == 4096 && std::is_trivially_copyable_v<Header>);

constexpr std::uint32_t kSteadyTicks = 1;  // Header::flags: ticks are the processor's counter
constexpr std::uint32_t kSegmented = 2;    // the recording is NAME-000001.tml and so on

constexpr std::array<unsigned char, 8> kSharedMagic{0x89, 'T', 'M', 'R', '\r', '\n', 0x1a, '\n'};
using tidemark::kRecordingMagic;

// Two moments on both clocks: the newer one is the one with the larger ticks.
struct SharedClock {
    std::atomic<std::uint64_t> ticks = 0;
    std::atomic<std::int64_t> time = 0;
};

// The second page of the shared file.
struct Counters {
    alignas(64) std::atomic<std::uint64_t> sequence = 0;      // the next one
    alignas(64) std::atomic<std::uint64_t> without_ring = 0;  // events of threads without a ring
    alignas(64) std::atomic<std::uint64_t> written = 0;  // sequences below are in the recording
    std::atomic<std::uint64_t> lost = 0;  // events that could not be written, or never arrived
    // of `without_ring` and `lost`, those that records there report
    std::atomic<std::uint64_t> reported = 0;
    std::atomic<std::uint64_t> forgotten = 0;  // records in segments that are gone
    std::atomic<std::uint32_t> first_segment = 0;
    std::atomic<std::uint32_t> last_segment = 0;
    // 1: nothing follows, everything is in the recording
    std::atomic<std::uint32_t> closed = 0;
    std::atomic<std::uint32_t> rings_used = 0;  // rings that ever held a record are below this
    std::atomic<std::uint32_t> failures = 0;    // of writing the recording
    alignas(64) std::array<SharedClock, 2> clocks{};
    alignas(64) std::array<std::byte, 4096 - 4 * 64> reserved{};
};

static_assert(sizeof(Counters) == 4096);

// The first page of a ring; its slots follow. The program's thread moves the head and counts, the
// recorder moves the tail.
struct RingControl {
    alignas(64) std::atomic<std::uint64_t> head = 0;  // slots ever written
    std::atomic<std::uint64_t> dropped = 0;           // events that found the ring full
    std::atomic<std::uint64_t> reported = 0;          // of them, by `lost` records
    alignas(64) std::atomic<std::uint64_t> tail = 0;  // slots that are in the recording
    alignas(64) std::array<std::byte, 4096 - 2 * 64> reserved{};
};

static_assert(sizeof(RingControl) == 4096);

// Where ring `index` begins in the shared file, and what comes after the last one.
std::uint64_t ring_offset(const Header& header, std::uint32_t index);

// The header before the slots of each piece of a recording; as large as a slot.
struct Chunk {
    std::uint32_t magic = 0;
    std::uint32_t slots = 0;
    std::uint64_t checksum = 0;        // of the rest and of the slots
    std::uint64_t first_sequence = 0;  // of its records: each number from here...
    std::uint64_t next_sequence = 0;   // ...up to here, or counted as lost
    std::uint64_t time = 0;            // ns: of the last record
    std::uint32_t flags = 0;           // kSnapshot
    std::uint32_t reserved = 0;        // zero
};

static_assert(sizeof(Chunk) == sizeof(Record));

constexpr std::uint32_t kChunkMagic = 0x434c4d54;  // "TMLC"
constexpr std::uint32_t kSnapshot = 1;             // names and what is live, not events
constexpr std::uint32_t kMostChunkSlots = 1U << 15U;

// Fills in magic, slots and checksum.
void seal(Chunk& chunk, std::span<const Record> slots);
void seal(Header& header);

enum class HeaderKind : std::uint8_t { shared, recording };

// The header at the front of `bytes`. Errors, with `where`: bad_input (not one, cut, wrong
// checksum, absurd numbers); unsupported: another version, with both numbers.
Result<Header> parse_header(std::span<const std::byte> bytes, HeaderKind kind,
                            const std::string& where);

// The chunk at the start of `bytes` if it is complete and its checksum is right. `needed`: this
// many bytes are required (0: this is not a chunk).
struct FoundChunk {
    bool whole = false;
    std::uint64_t needed = 0;
    Chunk chunk;
    std::span<const std::byte> slots;  // into `bytes`
};

FoundChunk find_chunk(std::span<const std::byte> bytes);

// The `index`-th slot of chunk bytes.
inline Record slot_at(std::span<const std::byte> slots, std::size_t index) {
    Record record;
    std::memcpy(&record, slots.data() + index * sizeof(Record), sizeof(Record));
    return record;
}

// A text of a header, up to its zero.
template <std::size_t Size>
std::string text_of(const std::array<char, Size>& text) {
    return {text.data(), ::strnlen(text.data(), Size)};
}

template <std::size_t Size>
void put_text(std::array<char, Size>& target, std::string_view text) {
    target.fill('\0');
    std::memcpy(target.data(), text.data(), text.size() < Size ? text.size() : Size - 1);
}

// The file of segment `number` (from 1 on) of the header's recording.
std::string segment_path(const Header& header, std::uint32_t number);

// The same of a recording with a limit: "run.tml" -> "run-000001.tml".
std::string segment_name(std::string_view path, std::uint32_t number);

// "/data/run" for "/data/run-000012.tml", a file of a recording with a limit; none for other paths.
std::optional<std::string> stem_of_segment(std::string_view path);

}  // namespace tidemark::live
