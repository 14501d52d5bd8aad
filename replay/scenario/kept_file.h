// What the files beside a trace have in common: a head begins with 8 bytes that say what it is and
// a checksum over all that follows, of which the first is the number of its format; a column is
// known by a checksum of what can be read in no time.
//
// All of it takes any bytes. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "traces/tmk/wire.h"

namespace tidemark {

using KeptMagic = std::array<std::uint8_t, 8>;

// A head of `content`, which begins with the number of its format. O(bytes).
std::vector<std::byte> seal(const KeptMagic& magic, std::span<const std::byte> content);

// What follows the format's number; nothing if that isn't a whole head of this kind and format.
// O(bytes).
std::optional<tmk::ByteReader> unseal(const KeptMagic& magic, std::uint32_t format,
                                      std::span<const std::byte> head);

// A file's bytes; nothing if there is none, or it is longer than any head. O(bytes).
std::optional<std::vector<std::byte>> read_kept_head(const std::filesystem::path& path);

// Of all bytes if they are few, else of so many at both ends. O(1).
std::uint64_t checksum_of_ends(std::span<const std::byte> column);

}  // namespace tidemark
