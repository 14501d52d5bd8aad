// Heads as bytes: little-endian, each field at a fixed location.
#include "core/tiers/disk/disk_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include "core/base/check.h"

namespace tidemark {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie");

// No text begins so, and a transfer in text mode changes it.
constexpr std::array<std::uint8_t, 8> kMagic{0x89, 'T', 'M', 'S', '\r', '\n', 0x1a, '\n'};

constexpr std::size_t kChecksumAt = 8;
constexpr std::size_t kVersionAt = 16;  // all from here on is under the checksum
constexpr std::size_t kHeadSizeAt = 20;
constexpr std::size_t kIncarnationAt = 24;
constexpr std::size_t kSequenceAt = 32;
constexpr std::size_t kBufferAt = 40;
constexpr std::size_t kTagAt = 48;
constexpr std::size_t kSizeAt = 56;
constexpr std::size_t kChunkAt = 64;
constexpr std::size_t kStripeAt = 72;
constexpr std::size_t kStripesAt = 76;
constexpr std::size_t kChunkTableAt = 80;

constexpr Bytes kLargestHead =
    align_up(kChunkTableAt + kMostChunks * sizeof(std::uint64_t), kFileBlock);

template <class T>
void put(std::span<std::byte> target, std::size_t at, T value) {
    std::memcpy(target.data() + at, &value, sizeof value);
}

template <class T>
T get(std::span<const std::byte> source, std::size_t at) {
    T value;
    std::memcpy(&value, source.data() + at, sizeof value);
    return value;
}

std::uint64_t checksum_of_head(std::span<const std::byte> head) {
    return XXH3_64bits(head.data() + kVersionAt, head.size() - kVersionAt);
}

tl::unexpected<Error> torn(std::string what) {
    return fail(ErrorCode::bad_input, std::move(what));
}

// All digits of `text`, hexadecimal and lower-case, as many as there are.
template <class T>
bool parse_hex(std::string_view text, T& value) {
    const auto lower = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (!std::all_of(text.begin(), text.end(), lower))
        return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Bytes StripeLayout::chunk_size(std::uint64_t index) const {
    return std::min(chunk, size - index * chunk);
}

std::uint32_t StripeLayout::stripe_of(std::uint64_t index) const {
    return static_cast<std::uint32_t>(index % stripes);
}

Bytes StripeLayout::offset_of(std::uint64_t index) const {
    return head_size(stripe_of(index)) + index / stripes * chunk;
}

std::uint64_t StripeLayout::chunks_in(std::uint32_t stripe) const {
    const std::uint64_t all = chunks();
    return all / stripes + (stripe < all % stripes ? 1 : 0);
}

Bytes StripeLayout::head_size(std::uint32_t stripe) const {
    return align_up(kChunkTableAt + chunks_in(stripe) * sizeof(std::uint64_t), kFileBlock);
}

Bytes StripeLayout::file_size(std::uint32_t stripe) const {
    const std::uint64_t count = chunks_in(stripe);
    if (count == 0)
        return head_size(stripe);
    const std::uint64_t last = (count - 1) * stripes + stripe;
    return head_size(stripe) + (count - 1) * chunk + align_up(chunk_size(last), kFileBlock);
}

bool StripeLayout::valid() const {
    if (chunk == 0 || chunk % kFileBlock != 0 || chunk > kLargestChunk)
        return false;
    if (size >= kLargestRequest || stripes == 0 || stripes > kMostStripes)
        return false;
    return stripes <= std::max<std::uint64_t>(chunks(), 1) && chunks_in(0) <= kMostChunks;
}

void encode_head(const SpillHead& head, std::span<std::byte> target) {
    TM_CHECK(head.layout.valid() && head.stripe < head.layout.stripes);
    TM_CHECK(target.size() == head.layout.head_size(head.stripe));
    TM_CHECK(head.checksums.size() == head.layout.chunks_in(head.stripe));
    std::fill(target.begin(), target.end(), std::byte{0});
    put(target, 0, kMagic);
    put(target, kVersionAt, kSpillVersion);
    put(target, kHeadSizeAt, static_cast<std::uint32_t>(target.size()));
    put(target, kIncarnationAt, head.incarnation);
    put(target, kSequenceAt, head.sequence);
    put(target, kBufferAt, head.buffer);
    put(target, kTagAt, head.tag);
    put(target, kSizeAt, head.layout.size);
    put(target, kChunkAt, head.layout.chunk);
    put(target, kStripeAt, head.stripe);
    put(target, kStripesAt, head.layout.stripes);
    const auto table = std::as_bytes(std::span(head.checksums));
    std::copy(table.begin(), table.end(), target.begin() + kChunkTableAt);
    put(target, kChecksumAt, checksum_of_head(target));
}

Result<Bytes> head_size_of(std::span<const std::byte> block) {
    TM_CHECK(block.size() >= kFileBlock);
    if (std::memcmp(block.data(), kMagic.data(), kMagic.size()) != 0)
        return torn("no head: the write was not finished");
    const auto version = get<std::uint32_t>(block, kVersionAt);
    if (version > kSpillVersion)
        return fail(ErrorCode::unsupported,
                    fmt::format("version {} (this program knows {})", version, kSpillVersion));
    if (version != kSpillVersion)
        return torn("no version");
    const Bytes size = get<std::uint32_t>(block, kHeadSizeAt);
    if (size == 0 || size % kFileBlock != 0 || size > kLargestHead)
        return torn(fmt::format("a head of {} bytes", size));
    return size;
}

Result<SpillHead> decode_head(std::span<const std::byte> bytes) {
    TM_ASSIGN(const Bytes size, head_size_of(bytes));
    if (size != bytes.size())
        return torn(fmt::format("a head of {} bytes, cut at {}", size, bytes.size()));
    if (get<std::uint64_t>(bytes, kChecksumAt) != checksum_of_head(bytes))
        return torn("the head's checksum is wrong");
    SpillHead head;
    head.incarnation = get<std::uint64_t>(bytes, kIncarnationAt);
    head.sequence = get<std::uint64_t>(bytes, kSequenceAt);
    head.buffer = get<std::uint64_t>(bytes, kBufferAt);
    head.tag = get<std::uint64_t>(bytes, kTagAt);
    head.layout.size = get<std::uint64_t>(bytes, kSizeAt);
    head.layout.chunk = get<std::uint64_t>(bytes, kChunkAt);
    head.stripe = get<std::uint32_t>(bytes, kStripeAt);
    head.layout.stripes = get<std::uint32_t>(bytes, kStripesAt);
    if (!head.layout.valid() || head.stripe >= head.layout.stripes)
        return torn("impossible sizes");
    if (head.layout.head_size(head.stripe) != size)
        return torn("the head's size does not fit the buffer's");
    head.checksums.resize(head.layout.chunks_in(head.stripe));
    const auto checksums = std::as_writable_bytes(std::span(head.checksums));
    const auto table = bytes.subspan(kChunkTableAt, checksums.size());
    std::copy(table.begin(), table.end(), checksums.begin());
    const auto rest = bytes.subspan(kChunkTableAt + checksums.size());
    if (!std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; }))
        return torn("something behind the checksums");
    return head;
}

std::string to_text(SpillName name) {
    return fmt::format("tidemark-{:016x}-{:04x}.spill", name.sequence, name.stripe);
}

std::optional<SpillName> parse_spill_name(std::string_view text) {
    constexpr std::string_view kFront = "tidemark-";
    constexpr std::string_view kBack = ".spill";
    constexpr std::size_t kSequenceDigits = 16;
    constexpr std::size_t kStripeDigits = 4;
    if (text.size() != kFront.size() + kSequenceDigits + 1 + kStripeDigits + kBack.size())
        return std::nullopt;
    const std::string_view digits = text.substr(kFront.size(), kSequenceDigits + 1 + kStripeDigits);
    if (!text.starts_with(kFront) || !text.ends_with(kBack) || digits[kSequenceDigits] != '-')
        return std::nullopt;
    SpillName name;
    if (!parse_hex(digits.substr(0, kSequenceDigits), name.sequence) ||
        !parse_hex(digits.substr(kSequenceDigits + 1), name.stripe))
        return std::nullopt;
    return name;
}

std::uint64_t spill_checksum(std::span<const MemoryPiece> pieces) {
    if (pieces.size() == 1)
        return XXH3_64bits(pieces[0].data, pieces[0].size);
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    for (const MemoryPiece& piece : pieces)
        XXH3_64bits_update(&state, piece.data, piece.size);
    return XXH3_64bits_digest(&state);
}

}  // namespace tidemark
