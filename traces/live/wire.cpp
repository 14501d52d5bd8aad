// Sizes, checksums and checks of the wire format.
#include "traces/live/wire.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace tidemark::live {
namespace {

std::uint64_t checksum_of(const Header& header) {
    return XXH3_64bits(&header, offsetof(Header, checksum));
}

// Over the rest of the chunk's head and its slots.
std::uint64_t checksum_of(const Chunk& chunk, const void* slots) {
    const std::size_t from = offsetof(Chunk, first_sequence);
    const std::uint64_t head =
        XXH3_64bits(reinterpret_cast<const std::byte*>(&chunk) + from, sizeof(Chunk) - from);
    return XXH3_64bits_withSeed(slots, chunk.slots * sizeof(Record), head ^ chunk.slots);
}

bool sound(const Header& header, HeaderKind kind) {
    if (header.session == 0 || header.devices > kMostDevices)
        return false;
    if (kind == HeaderKind::recording)
        return header.segment != 0;
    return header.rings != 0 && header.rings < kMostRings && header.ring_slots >= 1024 &&
           header.ring_slots <= 1U << 24U && std::has_single_bit(header.ring_slots);
}

}  // namespace

std::size_t whole_records(std::span<const Record> slots) {
    std::size_t length = 0;
    while (length < slots.size()) {
        const std::uint64_t next = length + 1 + payload_slots(slots[length]);
        if (next > kMostChunkSlots || next > slots.size())
            break;
        length = next;
    }
    return length;
}

std::uint64_t ring_offset(const Header& header, std::uint32_t index) {
    const std::uint64_t slots = align_up(header.ring_slots * sizeof(Record), 4096);
    return sizeof(Header) + sizeof(Counters) + index * (sizeof(RingControl) + slots);
}

void seal(Chunk& chunk, std::span<const Record> slots) {
    chunk.magic = kChunkMagic;
    chunk.slots = static_cast<std::uint32_t>(slots.size());
    chunk.checksum = checksum_of(chunk, slots.data());
}

void seal(Header& header) {
    header.checksum = checksum_of(header);
}

Result<Header> parse_header(std::span<const std::byte> bytes, HeaderKind kind,
                            const std::string& where) {
    const auto& magic = kind == HeaderKind::shared ? kSharedMagic : kRecordingMagic;
    const std::string_view what = kind == HeaderKind::shared ? "a running program" : "a recording";
    Header header;
    if (bytes.size() < offsetof(Header, session) ||
        std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
        return fail(ErrorCode::bad_input, fmt::format("is not the file of {}", what), where);
    std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
    if (header.version != kVersion)
        return fail(ErrorCode::unsupported,
                    fmt::format("is in version {} of the live format; this Tidemark knows {}",
                                header.version, kVersion),
                    where, "use the Tidemark that the program was built with");
    if (bytes.size() < sizeof header)
        return fail(ErrorCode::bad_input, "is cut off within its header", where);
    if (header.checksum != checksum_of(header) || header.size != sizeof header)
        return fail(ErrorCode::bad_input, "has a damaged header (wrong checksum)", where);
    if (!sound(header, kind))
        return fail(ErrorCode::bad_input, "has impossible numbers in its header", where);
    return header;
}

FoundChunk find_chunk(std::span<const std::byte> bytes) {
    FoundChunk found;
    if (bytes.size() < sizeof(Chunk)) {
        found.needed = sizeof(Chunk);
        return found;
    }
    std::memcpy(&found.chunk, bytes.data(), sizeof(Chunk));
    if (found.chunk.magic != kChunkMagic || found.chunk.slots > kMostChunkSlots)
        return found;
    found.needed = sizeof(Chunk) + found.chunk.slots * sizeof(Record);
    if (bytes.size() < found.needed)
        return found;
    found.slots = bytes.subspan(sizeof(Chunk), found.chunk.slots * sizeof(Record));
    found.whole = found.chunk.checksum == checksum_of(found.chunk, found.slots.data()) &&
                  found.chunk.first_sequence <= found.chunk.next_sequence;
    return found;
}

std::string segment_path(const Header& header, std::uint32_t number) {
    const std::string path = text_of(header.recording);
    return (header.flags & kSegmented) == 0 ? path : segment_name(path, number);
}

std::string segment_name(std::string_view path, std::uint32_t number) {
    constexpr std::string_view kEnding = ".tml";
    const std::string_view stem =
        path.ends_with(kEnding) ? path.substr(0, path.size() - kEnding.size()) : path;
    return fmt::format("{}-{:06}.tml", stem, number);
}

std::optional<std::string> stem_of_segment(std::string_view path) {
    constexpr std::string_view kEnding = "-000000.tml";
    if (path.size() < kEnding.size())
        return std::nullopt;
    const std::string_view stem = path.substr(0, path.size() - kEnding.size());
    const std::string_view ending = path.substr(stem.size());
    if (!ending.starts_with('-') || !ending.ends_with(".tml") ||
        ending.substr(1, 6).find_first_not_of("0123456789") != std::string_view::npos)
        return std::nullopt;
    return std::string(stem);
}

}  // namespace tidemark::live
