// ByteStore: the bytes behind simulated memory, kept only where something was written.
//
// Bytes that nobody wrote read as kUnwritten, so that a test which forgets to write sees it. Memory
// is taken from the host a page at a time; a page filled with one value costs no page. Not
// thread-safe. O(log pages + pages touched).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

class ByteStore {
  public:
    static constexpr std::byte kUnwritten{0xa5};

    void read(Address address, std::span<std::byte> target) const;
    void write(Address address, std::span<const std::byte> source);
    void fill(Address address, Bytes size, std::byte value);

    // Forgets what the range holds.
    void drop(Range range);

  private:
    static constexpr Bytes kPage = 64_KiB;

    struct Page {
        std::byte value = kUnwritten;  // all of the page, unless it has bytes of its own
        std::vector<std::byte> bytes;  // kPage of them, or none
    };

    static std::span<std::byte> own_bytes(Page& page);

    std::map<std::uint64_t, Page> pages_;  // by address / kPage
};

}  // namespace tidemark
