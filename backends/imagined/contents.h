// What is known about the bytes on the imagined devices: those that the program itself put there.
//
// Most kernels do nothing, so what they would have written is unknown. A copy from the host, a fill
// and what arithmetic.h computes are remembered, up to a size. A block that is handed out again
// becomes unknown, because only other kernels can have written it since. Not thread-safe. O(log
// pieces) a call, and O(bytes) of what is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tidemark::imagined {

class Contents {
  public:
    static constexpr std::size_t kLargest = std::size_t{32} << 20;  // larger ones aren't kept
    // in total; beyond that the oldest are dropped
    static constexpr std::size_t kMost = std::size_t{512} << 20;

    void write(std::uint64_t at, std::span<const std::byte> bytes);
    void fill(std::uint64_t at, std::byte value, std::size_t size);
    void copy(std::uint64_t to, std::uint64_t from, std::size_t size);
    void forget(std::uint64_t at, std::size_t size);

    // A range that has a new owner: its content is unknown.
    void hand_out(std::uint64_t at, std::size_t size);

    struct Owned {
        std::uint64_t begin = 0;
        std::size_t size = 0;
    };

    // The range with `at` in it that was handed out last; nothing if nobody owns that.
    std::optional<Owned> owner_of(std::uint64_t at) const;

    // Are all bytes of the range known? Then they are written to `bytes`.
    bool read(std::uint64_t at, std::span<std::byte> bytes) const;

    // Is any byte of the range known? Is all of it, in one piece, so that writing there is
    // O(bytes)?
    bool any(std::uint64_t at, std::size_t size) const;
    bool in_one_piece(std::uint64_t at, std::size_t size) const;

    // Reads many values near each other: O(1) while they are in one piece. Until the next change.
    class Reader {
      public:
        explicit Reader(const Contents& contents) : contents_(contents) {}

        bool read(std::uint64_t at, std::span<std::byte> bytes);

      private:
        const Contents& contents_;
        std::uint64_t begin_ = 0;
        std::span<const std::byte> piece_;
    };

  private:
    struct Piece {
        std::vector<std::byte> bytes;
        std::uint64_t age = 0;  // pieces are numbered in order of arrival
    };

    using Pieces = std::map<std::uint64_t, Piece>;

    void keep(std::uint64_t at, std::vector<std::byte> bytes);
    Pieces::iterator drop(Pieces::iterator piece);
    Pieces::const_iterator piece_of(std::uint64_t at) const;

    std::map<std::uint64_t, std::size_t> owned_;   // begin -> size, none overlapping another
    Pieces pieces_;                                // by their first address
    std::map<std::uint64_t, std::uint64_t> ages_;  // age -> first address
    std::uint64_t next_age_ = 0;
    std::size_t held_ = 0;
};

}  // namespace tidemark::imagined
