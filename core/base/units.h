// Units and identities: the types that every signature in Tidemark uses.
//
// Sizes are always in bytes and times in nanoseconds; human units exist only where text is shown to
// a person (core/base/text.h, replay/report). Each identity is its own type, so that a stream
// cannot be passed instead of an address. Everything here is a plain value: no function fails, all
// are O(1) and may be called from any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace tidemark {

using Bytes = std::uint64_t;
using Nanoseconds = std::int64_t;  // since the start of the run, on the device's clock

enum class Address : std::uint64_t { null = 0 };  // on the device
enum class StreamId : std::uint32_t { default_stream = 0 };
enum class EventId : std::uint64_t {};     // a point in a stream's work, given by Device::record
enum class PhysicalId : std::uint64_t {};  // one handle of physical memory
enum class GraphId : std::uint64_t {};     // a captured graph
enum class PoolId : std::uint32_t { default_pool = 0 };  // graph capture, MemPool

// A half-open range of addresses: [begin, begin + size).
struct Range {
    Address begin = Address::null;
    Bytes size = 0;

    friend constexpr bool operator==(const Range&, const Range&) = default;
};

constexpr std::uint64_t to_integer(Address address) {
    return static_cast<std::uint64_t>(address);
}

constexpr std::uint32_t to_integer(StreamId stream) {
    return static_cast<std::uint32_t>(stream);
}

constexpr std::uint32_t to_integer(PoolId pool) {
    return static_cast<std::uint32_t>(pool);
}

constexpr std::uint64_t to_integer(EventId event) {
    return static_cast<std::uint64_t>(event);
}

constexpr std::uint64_t to_integer(PhysicalId id) {
    return static_cast<std::uint64_t>(id);
}

constexpr std::uint64_t to_integer(GraphId id) {
    return static_cast<std::uint64_t>(id);
}

constexpr Address operator+(Address address, Bytes offset) {
    return Address{to_integer(address) + offset};
}

// The distance between two addresses; `end` must not be below `begin`.
constexpr Bytes operator-(Address end, Address begin) {
    return to_integer(end) - to_integer(begin);
}

// The smallest multiple of `granularity` (a power of two) that is not below `size`.
// Wraps to 0 for sizes within `granularity` of 2^64: callers reject those first (kLargestRequest).
constexpr Bytes align_up(Bytes size, Bytes granularity) {
    return (size + granularity - 1) & ~(granularity - 1);
}

constexpr bool is_power_of_two(Bytes size) {
    return std::has_single_bit(size);
}

// Requests of this size or more fail under every allocator: no machine has so much memory, and
// below it no rounding can overflow. The same bound as PyTorch's.
constexpr Bytes kLargestRequest = Bytes{1} << 60;

inline namespace literals {
constexpr Bytes operator""_KiB(unsigned long long n) {
    return n << 10;
}

constexpr Bytes operator""_MiB(unsigned long long n) {
    return n << 20;
}

constexpr Bytes operator""_GiB(unsigned long long n) {
    return n << 30;
}
}  // namespace literals

}  // namespace tidemark
