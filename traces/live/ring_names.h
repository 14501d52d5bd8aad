// RingNames: the strings, stacks, sites and streams that the threads of one ring have named so far,
// each defined in the ring before the first record that uses it. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/units.h"
#include "traces/live/live_frame.h"
#include "traces/live/ring_writer.h"

namespace tidemark::live {

class RingNames {
  public:
    // `writer` outlives it; `ring` is its number.
    RingNames(RingWriter& writer, std::uint32_t ring)
        : writer_(writer), nothing_(ring << kNumberBits) {}

    // The id of the argument, defined now if it is new. If there is no room for it in the ring, or
    // no number is left: nothing(). O(length), but for new ones O(length log names).
    std::uint32_t string(std::string_view text);
    std::uint32_t stack(std::span<const LiveFrame> frames);
    std::uint32_t site(std::uint32_t tag, std::uint32_t stack, PoolId pool);

    // The number of a stream of the program, by its handle; 0 (the default stream) likewise.
    std::uint16_t stream(std::uint64_t handle);

    // What is known of the program or its allocator. False: there is no room for it in the ring.
    bool setting(std::string_view key, std::string_view value, bool of_allocator);

    std::uint32_t nothing() const { return nothing_; }

  private:
    struct TextHash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    struct Site {
        std::uint32_t tag = 0;
        std::uint32_t stack = 0;
        PoolId pool = PoolId::default_pool;

        friend auto operator<=>(const Site&, const Site&) = default;
    };

    // Writes the definition of the next number of `used`, and counts it.
    std::uint32_t define(std::uint32_t& used, Record record, std::span<const std::byte> payload);

    RingWriter& writer_;
    const std::uint32_t nothing_;
    std::uint32_t strings_used_ = 0;
    std::uint32_t stacks_used_ = 0;
    std::uint32_t sites_used_ = 0;
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> strings_;
    std::map<std::vector<std::uint32_t>, std::uint32_t> stacks_;  // by name, file, line...
    std::map<Site, std::uint32_t> sites_;
    std::map<std::uint64_t, std::uint16_t> streams_;
};

}  // namespace tidemark::live
