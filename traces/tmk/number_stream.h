// NumberStream: a run of up to kChunkEvents numbers in as few bytes as its content allows, coded so
// that decoding takes a handful of instructions per number.
//
// Each number becomes a small one: its distance from the smallest ("frame"), from the previous
// number ("delta"), or its index among the distinct numbers ("dictionary"). The small ones are
// packed with a fixed count of bits; the few that do not fit are patched in afterwards. Where it
// pays, they are packed into whole bytes and compressed by zstd instead.
//
// All arithmetic is modulo 2^64, so any numbers can be coded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "traces/tmk/wire.h"

namespace tidemark::tmk {

enum class Coding : std::uint8_t { frame = 0, delta = 1, dictionary = 2 };
enum class Packing : std::uint8_t { bits = 0, zstd = 1 };

constexpr unsigned kWidestPacked = 56;  // or 64: an unaligned load of eight bytes has this many

// The header before a stream's payload.
struct StreamHeader {
    Coding coding = Coding::frame;
    Packing packing = Packing::bits;
    std::uint8_t width = 0;  // bits of a packed number: 0 to 56, or 64
    std::uint8_t zero = 0;
    std::uint32_t count = 0;    // numbers
    std::uint32_t patches = 0;  // numbers that are in the list of patches instead
    std::uint32_t stored = 0;   // bytes of the payload as stored
    std::uint64_t start = 0;    // delta: the number before the first
    std::uint64_t bias = 0;     // added to each packed number (frame) or difference (delta)
    std::uint64_t unit = 1;     // and each packed number is multiplied by this first
};

static_assert(sizeof(StreamHeader) == 40);

constexpr std::size_t packed_size(std::size_t count, unsigned width) {
    return (count * width + 7) / 8;
}

// zstd's contexts, made once per writer or cursor. Not thread-safe.
class Compressor {
  public:
    Compressor();
    ~Compressor();
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;

    // The compressed bytes, valid until the next call.
    std::span<const std::byte> compress(std::span<const std::byte> bytes, int level);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

class Decompressor {
  public:
    Decompressor();
    ~Decompressor();
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;

    // True if `bytes` are a frame of exactly target.size() bytes.
    bool decompress(std::span<const std::byte> bytes, std::span<std::byte> target);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Which codings are worth trying for a column, in addition to the frame.
struct Attempts {
    bool delta = false;       // numbers that mostly grow
    bool dictionary = false;  // few distinct numbers
};

// How many numbers have each count of significant bits.
using WidthCensus = std::array<std::uint32_t, 65>;

// Encodes streams. Keeps its working memory between calls. Not thread-safe.
class StreamEncoder {
  public:
    StreamEncoder();

    // Appends `numbers` (at most kChunkEvents) to `target`. Depends only on its arguments.
    void encode(std::span<const std::uint64_t> numbers, Attempts attempts, ByteWriter& target);

  private:
    // One way to code the numbers: the header's fields, and what would be packed.
    struct Plan {
        Coding coding = Coding::frame;
        std::uint64_t start = 0;
        std::uint64_t bias = 0;
        std::uint64_t unit = 1;
        unsigned width = 0;
        std::size_t cost = 0;              // bits, about
        WidthCensus census{};              // of `small`
        std::vector<std::uint64_t> small;  // the numbers to be packed
    };

    static void plan_frame(std::span<const std::uint64_t> numbers, Plan& plan);
    static void plan_delta(std::span<const std::uint64_t> numbers, Plan& plan);
    static void plan_width(Plan& plan);
    // False if there are too many distinct numbers for a dictionary to pay.
    bool plan_dictionary(std::span<const std::uint64_t> numbers);
    bool collect_distinct(std::span<const std::uint64_t> numbers, std::size_t most);
    void write(const Plan& plan, ByteWriter& target);
    // The numbers at `width` bits (whole bytes) after zstd, or nothing if it does not pay.
    std::span<const std::byte> try_zstd(const Plan& plan, unsigned width);

    Compressor compressor_;
    Plan frame_;
    Plan delta_;
    Plan dictionary_;
    Plan entries_;                         // how the dictionary itself is written
    std::vector<std::uint64_t> distinct_;  // sorted
    std::vector<std::uint32_t> table_;     // hash table: index in `distinct_` + 1; 0 = empty
    std::vector<std::byte> packed_;
};

}  // namespace tidemark::tmk
