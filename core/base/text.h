// Text for people: sizes, counts, times and near misses. The one home of each of these, both ways:
// command lines and option values are parsed here, reports are printed from here.
// Pure functions, thread-safe, O(length).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// "80GiB", "1.5 GB", "512", "64k" (= KiB), "2M", "none"-less: digits with an optional fraction and
// a unit of {B, K, M, G, T, P, KiB.., KB..}; KiB-style and bare letters are powers of 1024,
// KB-style powers of 1000. Errors (bad_option): empty, unknown unit, negative, not whole bytes
// after rounding, above 2^63.
Result<Bytes> parse_bytes(std::string_view text);

// A whole number, with optional '_' or ',' between digits. Errors: bad_option.
Result<std::uint64_t> parse_count(std::string_view text);

// A finite decimal number. Errors: bad_option.
Result<double> parse_real(std::string_view text);

// "12.4 GiB", "512 B": three significant digits, powers of 1024.
std::string format_bytes(Bytes bytes);

// "1.24 s", "310 us", "12 ns": three significant digits.
std::string format_duration(Nanoseconds duration);

// "12,345,678".
std::string format_count(std::uint64_t count);

// The candidate nearest to `word` by edit distance, or "" when none is within a third of its
// length (at least 2): the "did you mean" of every unknown name. O(candidates * length^2).
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tidemark
