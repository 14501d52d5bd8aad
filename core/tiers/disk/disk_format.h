// The form of a spill file: how a buffer is cut into chunks and stripes, and the head that says so.
// docs/format-spill.md describes it for other readers.
//
// A file is a head and then its chunks. The head holds everything that is needed to use the file
// without the process that wrote it, a checksum of each chunk and one of itself. It is written
// last: a file without a valid head was never finished. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tiers/disk/block_files.h"

namespace tidemark {

constexpr std::uint32_t kSpillVersion = 1;

// The lock file of a directory.
constexpr std::string_view kSpillLockName = "tidemark-spill.lock";

// Limits that a reader may rely on.
constexpr Bytes kLargestChunk = 1_GiB;
constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 20;  // of one file
constexpr std::uint32_t kMostStripes = 1024;

// How a buffer lies in its files: chunk i in file i % stripes, there at location i / stripes. Every
// function is O(1).
struct StripeLayout {
    Bytes size = 0;   // of the buffer
    Bytes chunk = 0;  // all but the last have this size; a multiple of kFileBlock
    std::uint32_t stripes = 1;

    std::uint64_t chunks() const { return size / chunk + (size % chunk != 0 ? 1 : 0); }

    Bytes chunk_size(std::uint64_t index) const;
    std::uint32_t stripe_of(std::uint64_t index) const;
    Bytes offset_of(std::uint64_t index) const;  // in its file

    // Of one file.
    std::uint64_t chunks_in(std::uint32_t stripe) const;
    Bytes head_size(std::uint32_t stripe) const;
    Bytes file_size(std::uint32_t stripe) const;

    // Within the limits above; no stripe without a chunk, save the one of an empty buffer.
    bool valid() const;

    friend bool operator==(const StripeLayout&, const StripeLayout&) = default;
};

// What a head says.
struct SpillHead {
    std::uint64_t incarnation = 0;  // of the store that wrote it
    std::uint64_t sequence = 0;     // of the write; later ones have higher numbers
    std::uint64_t buffer = 0;
    std::uint64_t tag = 0;
    StripeLayout layout;
    std::uint32_t stripe = 0;
    std::vector<std::uint64_t> checksums;  // of this file's chunks, without padding

    friend bool operator==(const SpillHead&, const SpillHead&) = default;
};

// Fills `target`, whose size is layout.head_size(stripe). O(size).
void encode_head(const SpillHead& head, std::span<std::byte> target);

// The size of the head that begins with this first block (kFileBlock bytes). Errors: unsupported
// for a later version; bad_input for no magic or an impossible size.
Result<Bytes> head_size_of(std::span<const std::byte> block);

// The whole head, as long as head_size_of said. Errors (bad_input): anything that encode_head does
// not write. O(size).
Result<SpillHead> decode_head(std::span<const std::byte> bytes);

// The name of a file within its directory, and back: nothing for names that are not the store's.
struct SpillName {
    std::uint64_t sequence = 0;
    std::uint32_t stripe = 0;

    friend bool operator==(const SpillName&, const SpillName&) = default;
};

std::string to_text(SpillName name);  // "tidemark-00000000000001f3-0002.spill"
std::optional<SpillName> parse_spill_name(std::string_view text);

// XXH3, 64 bits, seed 0, of the pieces one after the other.
std::uint64_t spill_checksum(std::span<const MemoryPiece> pieces);

}  // namespace tidemark
