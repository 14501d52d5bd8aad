// DriverPlacement: where a CUDA driver puts plain memory of 2 MiB and more. Allocators that cut
// such memory into blocks often take the block at the lowest address, so what they need depends on
// the order of these addresses.
//
// Model: our own measurement on an H200, driver 580, from the segments that 45 runs of PyTorch
// recorded (21,587 calls; with each call's past known, the rule for holes gave the recorded address
// in 9,862 of 9,946 cases in which it named one and the driver used a known chunk):
//   - Address space is taken in chunks: the request rounded up to 32 MiB, aligned to 32 MiB (to
//     512 MiB if the request is a multiple of that; under another kernel of the host, Linux 6.18
//     in a small virtual machine, this was not so). A chunk lies at the upper end of the highest
//     gap that has room for it and for its alignment less a page, as the operating system is asked
//     for so much and the rest given back: so a gap of exactly the chunk's size is not used.
//   - A request goes to the youngest chunk that has a hole for it, there to the smallest such hole,
//     of equals to the lowest, and to its lower end. Only without any is a chunk taken.
//   - Holes of one chunk merge, those of two chunks never do. A wholly free chunk is given back at
//     once, and its gap merges with its neighbours.
//   - The context itself leaves a hole of 24 MiB in one chunk and of 2 MiB in a younger one.
//   - With a LateHole: when its first big kernels are used, a context gives 414 or 446 MiB back, at
//     the low end of the chunk of the 2 MiB hole; seen after 0 to 15 segments, never in programs
//     without such kernels. No record tells when, so replays of one run have none.
// Not modelled: what else lives in the process. Libraries that load their code on first use, and
// threads, take and leave gaps and holes at moments that no record tells.
// Replayed from nothing, 8 runs were predicted whole (7,160 calls); over all, 97.1 % of the pairs
// of live segments of one stream and pool lie in the predicted order (slots: 26.5 %).
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

// What a context gives back of its second chunk, just before the memory that is taken `after` that
// many others; or when it is said (open_late_hole).
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

    // Addresses lie in `span`, whose ends are multiples of kLargestPage; it has room for what the
    // context holds (two chunks). `largest_page` (a power of two from kChunk to kLargestPage) is
    // what its multiples are aligned to.
    explicit DriverPlacement(Range span, Bytes largest_page = kLargestPage, LateHole late = {});

    bool covers(Address address) const {
        return address >= span_.begin && address - span_.begin < span_.size;
    }

    // An address for `size` bytes (not 0), or nothing when no gap is as large.
    std::optional<Address> take(Bytes size);

    // The late hole is there from now on; nothing if it is already, or if there is none.
    void open_late_hole();

    // The size of what lives at exactly `address`, which is free from now on; 0 if nothing does.
    Bytes give(Address address);

    // What lives around `address`; size 0 if nothing does.
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
    std::uint64_t taken_ = 0;  // how often, until the late hole is there
    std::map<Address, Bytes> live_;
    Chunks chunks_;
    Holes holes_;                                      // of all chunks
    std::vector<Address> ages_;                        // a chunk's age -> where it is; null: gone
    Rooms rooms_;                                      // by age
    Holes gaps_;                                       // between chunks
    std::array<std::set<Address>, 64> gaps_by_power_;  // by bit_width(size) - 1
};

}  // namespace tidemark
