// ReleaseUnits: the pieces in which memory can go back to its device, and how much of each is
// taken. What is free in a piece of which something is taken cannot go back: that is fragmentation.
//
// A segment goes back whole. Memory behind a reservation goes back by pages, and no history says
// how large those are: 20 MiB where all mappings of a reservation are so many of these (PyTorch's
// pages of large blocks), else the largest power of two, at most 2 MiB, of which they are
// multiples. Mappings outside of any reservation count as segments. A block counts in the segment
// that it was born into, or, whole, in no piece at all; one in addresses that only ever had second
// mappings (views) at their home.
//
// Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "replay/timeline/history.h"
#include "replay/timeline/view_homes.h"

namespace tidemark {

class ReleaseUnits {
  public:
    // Takes in where a reservation is, or how large its pages may be; of others nothing. To be
    // called before begin(), reservations first. False: blocks were counted in pages that are too
    // large, or elsewhere than they should be, and all must be counted anew. O(log segments).
    bool learn(const Segment& segment);

    // Memory comes and goes. O(log segments).
    void begin(const Segment& segment);
    void end(const Segment& segment);

    // Bytes of a block are taken, or free again. O(log segments), whatever its size.
    void take(std::uint16_t device, const BlockLife& block);
    void release(std::uint16_t device, const BlockLife& block);

    // Free bytes in pieces of which something is taken. O(1).
    Bytes fragmented() const { return fragmented_; }

  private:
    static constexpr std::size_t kChunk = 1024;
    static constexpr std::size_t kFound = 1024;

    struct Whole {
        Bytes size = 0;
        Bytes taken = 0;
        EventIndex born = 0;
    };

    // Reservations that overlap, at any time. Only pages of which a part is taken are counted: a
    // block leaves nothing free of those that it covers.
    struct Zone {
        std::uint64_t begin = 0;
        std::uint64_t last = 0;
        std::uint64_t bits = 0;          // of all that pages must divide
        bool large = true;               // that is all so many large pages
        bool counted_elsewhere = false;  // blocks in it
        Bytes page = 0;
        std::vector<std::vector<Bytes>> taken = {};  // by pages, kChunk in each
    };

    using Wholes = std::map<std::uint64_t, Whole>;

    // What a look into the tree found, for the next one near by: half of a sweep's time otherwise.
    struct Found {
        Wholes::value_type* whole = nullptr;
        std::uint64_t changes = 0;  // of Space when it was found; others since: it may be gone
    };

    struct Space {
        Wholes wholes;  // alive, by begin
        std::uint64_t changes = 1;
        std::vector<Found> found = std::vector<Found>(kFound);
        std::vector<Zone> zones;  // by begin, disjoint
    };

    Space& space(std::uint16_t device);
    static Wholes::value_type* whole_at(Space& space, std::uint64_t address);
    static Zone* zone_at(Space& space, std::uint64_t address);
    static bool add_zone(Space& space, Zone zone);
    static Bytes page_of(const Zone& zone);
    void count(std::uint16_t device, const BlockLife& block, bool takes);
    void count(Space& space, Range range, EventIndex born, bool takes);
    void count_pages(Zone& zone, std::uint64_t first, std::uint64_t last, bool takes);
    void count_page(Zone& zone, std::uint64_t page, Bytes bytes, bool takes);
    void change(Bytes& taken, Bytes size, Bytes bytes, bool takes);

    std::deque<Space> spaces_;  // by device; they stay where they are
    ViewHomes views_;
    Bytes fragmented_ = 0;
};

// At one event: the free bytes in pieces of which something is taken. 0 when cancelled.
// O((segments + live) log segments).
Bytes fragmentation_at(const History& history, EventIndex event,
                       const std::atomic<bool>& cancelled);

}  // namespace tidemark
