// What the files of the cache have in common: a head begins with 8 bytes that identify it and a
// checksum over the rest, which starts with the number of its format; a head holds a checksum over
// each column.
//
// All of it takes any bytes. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/io/own_folder.h"
#include "traces/tmk/wire.h"

namespace tidemark {

using KeptMagic = std::array<std::uint8_t, 8>;

// A head of `content`, which begins with the number of its format. O(bytes).
std::vector<std::byte> seal(const KeptMagic& magic, std::span<const std::byte> content);

// The content after the format's number; nothing if `bytes` isn't a whole head of this kind and
// format. O(bytes).
std::optional<tmk::ByteReader> unseal(const KeptMagic& magic, std::uint32_t format,
                                      std::span<const std::byte> head);

// A file's bytes; nothing if there is none that OwnFolder opens, or it is longer than any head.
// O(bytes).
std::optional<std::vector<std::byte>> read_kept_head(const OwnFolder& folder,
                                                     const std::string& name);

// Between a file's name and 8 random hexadecimal digits while it is written.
constexpr std::string_view kPart = ".part-";
std::string random_digits();

// Writes a file of `folder`, which appears whole and when the disk has it, in place of one of the
// same name. Errors: io; cancelled; nothing of it is left then. O(bytes).
Result<void> write_kept_file(const OwnFolder& folder, const std::string& name,
                             std::span<const std::byte> bytes,
                             const std::atomic<bool>* cancelled = nullptr);

// A checksum for each column: over those of its blocks of 1 MiB, which all cores work at; nothing
// if it was cancelled. O(bytes): 0.1 s for a GiB that the page cache has, on two cores.
std::optional<std::vector<std::uint64_t>> checksums_of(
    std::span<const std::span<const std::byte>> columns,
    const std::atomic<bool>* cancelled = nullptr);

}  // namespace tidemark
