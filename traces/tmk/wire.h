// The parts of a .tmk file: little-endian numbers, blocks with a checksum, and the limits that a
// reader relies on. docs/format-tmk.md describes the format for other programs. Pure functions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "traces/io/file_kind.h"

namespace tidemark::tmk {

static_assert(std::endian::native == std::endian::little, "the columns are used in place");

// A file: header, blocks, trailer. The first byte is not text and the line ends are of both kinds,
// so that a transfer in text mode is noticed.
constexpr std::array<std::uint8_t, 8> kMagic = kTmkMagic;
constexpr std::array<std::uint8_t, 8> kEndMagic{'t', 'm', 'k', '-', 'e', 'n', 'd', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderSize = 16;       // magic, version, zero
constexpr std::size_t kBlockHeaderSize = 24;  // checksum, kind, zero, size
constexpr std::size_t kTrailerSize = 16;      // offset of the index block, end magic

enum class BlockKind : std::uint32_t { events = 1, info = 2, index = 3 };

// Every chunk of a file except the last has this many events; none has more.
constexpr std::size_t kChunkEvents = 65536;

// Zeros behind every packed payload, so that a reader may load eight bytes anywhere in it.
constexpr std::size_t kSlack = 8;

// Appends numbers and bytes.
class ByteWriter {
  public:
    template <class T>
    void put(T value) {
        static_assert(std::is_trivially_copyable_v<T>);
        put_bytes(std::as_bytes(std::span(&value, 1)));
    }

    void put_bytes(std::span<const std::byte> bytes) {
        bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }

    // Length (u32) and bytes.
    void put_text(std::string_view text) {
        put(static_cast<std::uint32_t>(text.size()));
        put_bytes(std::as_bytes(std::span(text)));
    }

    template <class T>
    void set(std::size_t at, T value) {
        std::memcpy(bytes_.data() + at, &value, sizeof value);
    }

    std::size_t size() const { return bytes_.size(); }

    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

    void clear() { bytes_.clear(); }

  private:
    std::string bytes_;  // a string, for its cheap append
};

// Takes numbers and bytes from the front. Past the end everything is zero and ok() is false, so
// that a parser may check once, before it uses what it has read.
class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class T>
    T get() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value{};
        const std::span<const std::byte> bytes = get_bytes(sizeof value);
        if (bytes.size() == sizeof value)
            std::memcpy(&value, bytes.data(), sizeof value);
        return value;
    }

    // Empty, and not ok, if there are fewer.
    std::span<const std::byte> get_bytes(std::size_t count) {
        if (count > rest_.size()) {
            ok_ = false;
            rest_ = {};
            return {};
        }
        const std::span<const std::byte> bytes = rest_.first(count);
        rest_ = rest_.subspan(count);
        return bytes;
    }

    std::string_view get_text() {
        const std::span<const std::byte> bytes = get_bytes(get<std::uint32_t>());
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    std::size_t left() const { return rest_.size(); }

    bool ok() const { return ok_; }

  private:
    std::span<const std::byte> rest_;
    bool ok_ = true;
};

// The checksum of a block covers everything after it.
std::uint64_t hash_bytes(std::span<const std::byte> bytes);

// A block's bytes: header and payload.
std::vector<std::byte> make_block(BlockKind kind, std::span<const std::byte> payload);

struct Block {
    BlockKind kind{};
    std::span<const std::byte> payload;
    std::size_t size = 0;  // with its header
};

// The block in `file` at `offset`. `whole` is false when the file ends before the block does, or
// no block begins there; `intact` when the checksum is right.
struct FoundBlock {
    Block block;
    bool whole = false;
    bool intact = false;
};

FoundBlock find_block(std::span<const std::byte> file, std::uint64_t offset);

// What a block's header, all of `head`, says about the bytes behind it. Not to be trusted.
std::uint64_t size_of_payload(std::span<const std::byte> head);

}  // namespace tidemark::tmk
