// ReleaseUnits: the pieces in which memory can be released to its device, and how much of each is
// in use. Free memory in a piece that is in use in part is unreleasable: that is fragmentation.
//
// A segment is released as a whole, mapped memory by pages, as they were mapped (Segment::page). A
// second mapping (view) is of the same memory as its home, whichever of the two stays. A block
// counts in the pieces that contain its ends, if these existed before it; the pieces in between are
// entirely in use.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "replay/timeline/history.h"

namespace tidemark {

class ReleaseUnits {
  public:
    // Memory comes and goes; reservations aren't memory. At one event first all ends, then all
    // begins, then settle(): of a mapping that is unmapped in part, the rest ends and begins, and
    // keeps its blocks. O(pages log pages).
    void begin(const Segment& segment);
    void end(const Segment& segment);
    void settle();

    // Bytes of a block are taken, or free again. O(log pages), whatever its size.
    void take(std::uint16_t device, const BlockLife& block) { count(device, block, true); }

    void release(std::uint16_t device, const BlockLife& block) { count(device, block, false); }

    // Free bytes in pieces of which something is taken. O(1).
    Bytes fragmented() const { return fragmented_; }

  private:
    using Number = std::uint32_t;

    static constexpr Number kNone = ~Number{0};
    static constexpr std::size_t kFound = 1024;

    // Memory, wherever it is mapped.
    struct Piece {
        Bytes size = 0;
        Bytes taken = 0;
        EventIndex born = 0;
        std::uint32_t mappings = 0;
    };

    // Addresses of a piece.
    struct Mapped {
        std::uint64_t begin = 0;
        Bytes size = 0;
        Number piece = kNone;
        EventIndex born = 0;
    };

    struct Space {
        std::map<std::uint64_t, Mapped> mappings;  // by begin
        // What a look into the map found, for the next one near by: half of a sweep's time else.
        std::vector<Mapped> found = std::vector<Mapped>(kFound);
    };

    using Ended = std::map<std::pair<std::uint16_t, std::uint64_t>, Mapped>;

    Space& space(std::uint16_t device);
    static Bytes page_of(const Segment& segment);
    static const Mapped* mapped_at(Space& space, std::uint64_t address);
    static void forget(Space& space, const Mapped& mapped);
    void put(const Segment& segment, std::uint64_t begin, Bytes size);
    Number new_piece(Bytes size, EventIndex born);
    Number piece_at_home(const Segment& view, std::uint64_t begin);
    void leave(Number piece);
    void count(std::uint16_t device, const BlockLife& block, bool takes);
    void change(Number piece, Bytes bytes, EventIndex born, bool takes);

    std::deque<Space> spaces_;  // by device; they stay where they are
    std::vector<Piece> pieces_;
    std::vector<Number> vacant_;  // of them
    Ended ended_;                 // since the last settle(), by device and begin
    Bytes fragmented_ = 0;
};

}  // namespace tidemark
