// ByteStore: the bytes behind simulated memory, kept only where something was written.
//
// Bytes that nobody wrote read as kUnwritten, so that a test which forgets to write notices it. A
// range filled with one word, however long, costs the host a hundred bytes: a replay that writes
// all its allocations (backends/wrap/touching.h) is limited by their number, not their size. Not
// thread-safe. O(log pieces + pieces touched + bytes moved); a piece is what one call wrote.
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

    // All of the range is one byte; or one word, whose lowest byte is at the addresses that are
    // multiples of 4.
    void fill(Address address, Bytes size, std::byte value);
    void fill_word(Address address, Bytes size, std::uint32_t word);

    // How many bytes of the range are not those of fill_word.
    Bytes count_differing(Address address, Bytes size, std::uint32_t word) const;

    // Discards the content of the range.
    void drop(Range range);

  private:
    static constexpr Bytes kLongest = 64_KiB;  // of a piece with bytes: what a cut has to move

    // `bytes`, or `word` all over if there are none.
    struct Piece {
        Bytes size = 0;
        std::uint32_t word = 0;
        std::vector<std::byte> bytes = {};
    };

    using Pieces = std::map<std::uint64_t, Piece>;  // by address

    template <class Visit>
    void for_each_piece(Range range, Visit visit) const;
    void cut(std::uint64_t at);

    Pieces pieces_;  // disjoint
};

}  // namespace tidemark
