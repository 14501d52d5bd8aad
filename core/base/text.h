// Text for people: sizes, counts, times and near misses, in both directions. Everything that parses
// command lines and option values, or prints reports, uses these. Pure functions, thread-safe,
// O(length).
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// "80GiB", "1.5 GB", "512", "64k" (= KiB), "2M": digits with an optional fraction and a unit of {B,
// K, M, G, T, P, KiB.., KB..}, upper or lower case. KiB-style and bare letters are powers of 1024,
// KB-style powers of 1000. Errors (bad_option): empty, unknown unit, negative, not whole bytes
// after rounding, above 2^63.
Result<Bytes> parse_bytes(std::string_view text);

// A size as typed on a command line: as parse_bytes, but an ambiguous one is never accepted
// silently.
struct TypedSize {
    Bytes bytes = 0;
    std::string note;  // "80G taken as 80 GiB", if a bare letter left the unit ambiguous
};

// Errors (bad_option): those of parse_bytes, and a number below 1 MiB (except 0) whose unit was
// probably forgotten: for "80" the message asks whether 80GiB was meant. Larger plain numbers are
// bytes.
Result<TypedSize> parse_typed_size(std::string_view text);

// A whole number, with optional '_' or ',' between digits. Errors: bad_option.
Result<std::uint64_t> parse_count(std::string_view text);

// Like std::from_chars, which some libraries lack for numbers with a fraction.
std::from_chars_result read_real(const char* begin, const char* end, double& value);

// A finite decimal number. Errors: bad_option.
Result<double> parse_real(std::string_view text);

// "1.5s", "300 ms", "2 min", "0": a decimal number with a unit of {ns, us, ms, s, min, h}; only 0
// needs no unit. Errors (bad_option): not a number, no or another unit, negative, above 2^62.
Result<Nanoseconds> parse_duration(std::string_view text);

// "12.4 GiB", "512 B": three significant digits, powers of 1024.
std::string format_bytes(Bytes bytes);

// "1.24 s", "310 us", "12 ns": three significant digits.
std::string format_duration(Nanoseconds duration);

// "12,345,678".
std::string format_count(std::uint64_t count);

// "1 segment", "12,345 segments"; `many` if the plural is not `one` with an s.
std::string format_counted(std::uint64_t count, std::string_view one, std::string_view many = {});

// "once", "12 times".
std::string format_times(std::uint64_t count);

// "24.8 %" for a share of 0.248.
std::string format_percent(double share);

// Without the spaces at both ends; a part of `text`.
std::string_view trimmed(std::string_view text);

// part / whole; 0 if `whole` is 0.
constexpr double share_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The candidate nearest to `word` by edit distance, or "" when none is within a third of its
// length (at least 2): the "did you mean" of every unknown name. O(candidates * length^2).
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tidemark
