// The live format under any bytes: recordings as a reader of traces sees them, and the shared
// memory of a dead program, whose rings hold whatever was there.
//
// ByteVector are tried as a whole file, and as records behind a sound header, so that small inputs
// reach what lies behind the checksums.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/check.h"
#include "tests/fuzz/targets.h"
#include "tests/support/checking_sink.h"
#include "traces/live/live_set.h"
#include "traces/live/recording_chain.h"
#include "traces/live/remainder.h"
#include "traces/readers/format.h"

namespace tidemark {

namespace formats {
FormatInfo live_recording();
}

namespace fuzz {
namespace {

using ByteVector = std::vector<std::byte>;

constexpr std::uint32_t kRingSlots = 1024;

live::Header sound_header(live::HeaderKind kind) {
    live::Header header;
    header.magic = kind == live::HeaderKind::shared ? live::kSharedMagic : live::kRecordingMagic;
    header.session = 1;
    header.segment = 1;
    header.devices = 2;
    header.rings = 2;
    header.ring_slots = kRingSlots;
    live::seal(header);
    return header;
}

template <class T>
void put(ByteVector& bytes, const T& value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

bool read(std::span<const std::byte> bytes, const ReadOptions& options,
          std::vector<TraceEvent>& events) {
    const auto source = open_memory(bytes, "input/");
    if (!source || (*source)->compressed())
        return false;
    support::CheckingSink sink;
    const Result<TraceInfo> info = formats::live_recording().read(**source, sink, options);
    if (info)
        TM_CHECK(sink.finish(*info));
    else
        TM_CHECK(!info.error().what.empty() && !info.error().where.empty());
    if (!sink.problem().empty())
        check_failed(sink.problem().c_str(), __FILE__, __LINE__);
    events = sink.events();
    return info.has_value();
}

void read_all_ways(std::span<const std::byte> bytes) {
    std::vector<TraceEvent> ordinary;
    std::vector<TraceEvent> lenient;
    std::vector<TraceEvent> strict;
    ReadOptions options;
    const bool accepted = read(bytes, options, ordinary);
    options.lenient = true;
    const bool lenient_accepted = read(bytes, options, lenient);
    TM_CHECK(!accepted || (lenient_accepted && lenient == ordinary));
    options.lenient = false;
    options.strict = true;
    const bool strict_accepted = read(bytes, options, strict);
    TM_CHECK(!strict_accepted || (accepted && strict == ordinary));
}

// A reader of shared memory gets as much as is there.
live::ReadAt reader_of(std::span<const std::byte> bytes) {
    return [bytes](std::uint64_t offset, std::span<std::byte> target) -> std::size_t {
        if (offset >= bytes.size())
            return 0;
        const auto rest = bytes.subspan(static_cast<std::size_t>(offset));
        const std::size_t count = std::min(rest.size(), target.size());
        std::copy_n(rest.begin(), count, target.begin());
        return count;
    };
}

void read_shared(std::span<const std::byte> bytes) {
    const auto program = live::parse_program(reader_of(bytes), "input");
    if (!program) {
        TM_CHECK(!program.error().what.empty() && !program.error().where.empty());
        return;
    }
    TM_CHECK(program->counters.fullest_ring >= 0 && program->counters.fullest_ring <= 1);
    const live::Remainder rest = live::read_remainder(reader_of(bytes), *program, 0, 0);
    TM_CHECK(!rest.records.empty() && rest.records.back().kind == live::RecordKind::end);
    std::uint64_t latest = 0;
    for (std::size_t at = 0; at < rest.records.size();) {
        const std::uint64_t length = 1 + live::payload_slots(rest.records[at]);
        TM_CHECK(length <= rest.records.size() - at);
        TM_CHECK(rest.records[at].time >= latest);
        latest = rest.records[at].time;
        at += length;
    }
    // What would be written can be read.
    live::LiveSet alive;
    alive.add(rest.records);
    static_cast<void>(alive.snapshot());
}

}  // namespace

void live_recording(std::span<const std::byte> bytes) {
    read_all_ways(bytes);
    ByteVector behind_header;
    put(behind_header, sound_header(live::HeaderKind::recording));
    ByteVector chunked = behind_header;
    behind_header.insert(behind_header.end(), bytes.begin(), bytes.end());
    read_all_ways(behind_header);
    std::vector<live::Record> slots(
        std::min<std::size_t>(bytes.size() / sizeof(live::Record), live::kMostChunkSlots));
    if (!slots.empty())
        std::memcpy(slots.data(), bytes.data(), slots.size() * sizeof(live::Record));
    live::Chunk chunk;
    live::seal(chunk, slots);
    put(chunked, chunk);
    for (const live::Record& slot : slots)
        put(chunked, slot);
    read_all_ways(chunked);
}

// Input: the four numbers of a ring's control, then the slots, the same for two rings.
void live_rings(std::span<const std::byte> bytes) {
    read_shared(bytes);
    const live::Header header = sound_header(live::HeaderKind::shared);
    ByteVector shared(live::ring_offset(header, header.rings));
    std::memcpy(shared.data(), &header, sizeof header);
    const std::uint32_t used = header.rings;
    std::memcpy(shared.data() + sizeof header + offsetof(live::Counters, rings_used), &used,
                sizeof used);
    constexpr std::size_t kNumbers = 3 * sizeof(std::uint64_t);
    for (std::uint32_t ring = 0; ring < header.rings; ++ring) {
        std::byte* const control = shared.data() + live::ring_offset(header, ring);
        const auto numbers = bytes.first(std::min(bytes.size(), kNumbers));
        std::copy(numbers.begin(), numbers.end(), control);
        bytes = bytes.subspan(numbers.size());
        const auto tail = bytes.first(std::min<std::size_t>(bytes.size(), 8));
        std::copy(tail.begin(), tail.end(), control + offsetof(live::RingControl, tail));
        bytes = bytes.subspan(tail.size());
        const auto slots = bytes.first(std::min(ring == 0 ? bytes.size() / 2 : bytes.size(),
                                                kRingSlots * sizeof(live::Record)));
        std::copy(slots.begin(), slots.end(), control + sizeof(live::RingControl));
        bytes = bytes.subspan(slots.size());
    }
    read_shared(shared);
}

}  // namespace fuzz
}  // namespace tidemark
