// DriverPlacement: where a CUDA driver puts plain memory of 2 MiB and more. Allocators that split
// such memory into blocks often take the block at the lowest address, so what they need depends on
// the order of these addresses.
//
// Model: our own measurement on an H200, driver 580, from the segments that 45 runs of PyTorch
// recorded (21,587 calls; with each call's past known, the rule for holes gave the recorded address
// in 9,862 of 9,946 cases in which it named one and the driver used a known chunk):
//   - Address space is taken in chunks: the request rounded up to 32 MiB, aligned to 32 MiB (to
//     512 MiB if the request is a multiple of that; under another kernel of the host, Linux 6.18
//     in a small virtual machine, this was not so). A chunk is at the upper end of the highest gap
//     that has room for it and for its alignment less a page, since the driver requests that much
//     from the operating system and returns the rest: so a gap of exactly the chunk's size is not
//     used.
//   - A request goes to the youngest chunk that has a hole for it, there to the smallest such hole,
//     of equals to the lowest, and to its lower end. Only if there is no hole is a chunk taken.
//   - Holes of one chunk merge, those of two chunks never do. An entirely free chunk is released
//     immediately, and its gap merges with its neighbours.
//   - The context itself leaves a hole of 24 MiB in one chunk and of 2 MiB in a younger one.
//   - With a LateHole: when its first big kernels are used, a context frees 414 or 446 MiB, at the
//     low end of the chunk of the 2 MiB hole; seen after 0 to 15 segments, never in programs
//     without such kernels. No record shows when, so replays of one run have none.
//
// Not modelled: other users of the process's address space. Libraries that load their code on first
// use, and threads, take and leave gaps and holes at moments that no record shows. Replayed from
// nothing, 8 runs were predicted completely (7,160 calls); over all, 97.1 % of the pairs of live
// segments of one stream and pool are in the predicted order (slots: 26.5 %).
//
// Not thread-safe. O(log chunks + holes of one chunk) a call; a new chunk also looks at the gaps
// above its own whose size has the same power of two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

// What a context frees of its second chunk, just before the memory that is taken after `after`
// others; or on request (open_late_hole).
struct LateHole {
    static constexpr std::uint64_t kWhenSaid = ~std::uint64_t{0};

    std::uint64_t after = 0;
    Bytes size = 0;  // a multiple of DriverPlacement::kUnit; 0 = nothing
};

class DriverPlacement {
  public:
    static constexpr Bytes kUnit = 2_MiB;           // addresses are multiples of it
    static constexpr Bytes kChunk = 32_MiB;         // chunks are multiples of it
    static constexpr Bytes kLargestPage = 512_MiB;  // multiples of it are aligned to it

    // Addresses are in `span`, whose ends are multiples of kLargestPage; it has room for what the
    // context holds (two chunks). Multiples of `largest_page` (a power of two from kChunk to
    // kLargestPage) are aligned to it.
    explicit DriverPlacement(Range span, Bytes largest_page = kLargestPage, LateHole late = {});

    bool covers(Address address) const {
        return address >= span_.begin && address - span_.begin < span_.size;
    }

    // An address for `size` bytes (not 0), or nothing if no gap is that large.
    std::optional<Address> take(Bytes size);

    // Opens the late hole now; does nothing if it is open already, or if there is none.
    void open_late_hole();

    // Frees the block at exactly `address` and returns its size; 0 if there is none.
    Bytes give(Address address);

    // The block around `address`; size 0 if there is none.
    Range find(Address address) const;

  private:
    struct Chunk {
        Bytes size = 0;
        Bytes taken = 0;  // by live memory, and by the context
        std::size_t age = 0;
    };

    using Chunks = std::map<Address, Chunk>;
    using Holes = std::map<Address, Bytes>;

    // The largest hole of each chunk by age, as a tree of maxima: finds the youngest with room.
    class Rooms {
      public:
        std::size_t capacity() const { return tree_.size() / 2; }

        // Room for `capacity` (a power of two) ages, all without a hole.
        void reset(std::size_t capacity) { tree_.assign(2 * capacity, 0); }

        void set(std::size_t age, Bytes largest);
        std::optional<std::size_t> youngest_with(Bytes size) const;

      private:
        std::vector<Bytes> tree_;
    };

    std::optional<Chunks::iterator> open_chunk(Bytes size);
    void close_chunk(Chunks::iterator chunk);
    Address carve(Chunks::iterator chunk, Bytes size);
    void add_hole(Chunks::iterator chunk, Range hole);
    void update_room(Chunks::iterator chunk);
    void add_age(Chunks::iterator chunk);
    std::optional<Address> find_gap(Bytes size, Bytes alignment) const;
    void add_gap(Range gap);
    void remove_gap(Holes::iterator gap);

    Range span_;
    Bytes largest_page_;
    LateHole late_;
    Address late_at_ = Address::null;
    bool late_open_ = false;
    std::uint64_t taken_ = 0;  // how often, until the late hole opens
    std::map<Address, Bytes> live_;
    Chunks chunks_;
    Holes holes_;                                      // of all chunks
    std::vector<Address> ages_;                        // a chunk's age -> where it is; null: gone
    Rooms rooms_;                                      // by age
    Holes gaps_;                                       // between chunks
    std::array<std::set<Address>, 64> gaps_by_power_;  // by bit_width(size) - 1
};

}  // namespace tidemark
