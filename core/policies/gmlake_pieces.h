// GmlakePieces: large memory of GMLake: pieces of whole pages, and stitches, which are second
// ranges of addresses at which several pieces are mapped in a row.
//
// A piece lies in the addresses that were reserved when its pages were made; it can be cut, and
// joins its free neighbours as long as no stitch is over either. A stitch owns no memory: it is
// free while all its pieces are, and whoever gets it gets them. It stays when it is free, since
// its pieces may be free together again, until they are too many (collect) or its pages go back.
// Each stream has a list of its own, and nothing goes from one to another.
//
// A value that names its device only in calls: copying it copies the state. Not thread-safe.
// O(log pieces) a call besides the pieces of a stitch and the stitches over a piece.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/hash_index.h"
#include "core/regions/page_leftovers.h"
#include "core/regions/page_table.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {

class GmlakePieces {
  public:
    // A piece, or a stitch if kStitch is set.
    using Node = std::uint32_t;
    static constexpr Node kStitch = 0x40000000U;
    static constexpr Node kNothing = kNoBlock;

    explicit GmlakePieces(Bytes page) : pages_(page, {}) {}

    Bytes page() const { return pages_.page(); }

    std::uint32_t list_of(StreamId stream);

    // The smallest free piece of at least `size`, else the smallest free stitch, of at most
    // `reuse` times that; or kNothing.
    Node find(Bytes size, std::uint32_t list, std::uint64_t reuse) const;

    // A free stitch of exactly `size`, of the largest pieces first; kNothing if they don't suffice.
    DeviceResult<Node> stitch(Bytes size, std::uint32_t list, Device& device);

    // A free piece of `size` in new memory.
    DeviceResult<Node> grow(Bytes size, std::uint32_t list, Device& device);

    // What is free becomes `stream`'s; a piece is cut to `size`. Its order has been made.
    void take(Node node, Bytes size, StreamId stream);
    void give_back(Node node);

    void record_use(Node node, StreamId stream);
    StreamSet streams(Node node) const;
    Range range(Node node) const;

    // Bytes of addresses of all stitches.
    Bytes stitched() const { return stitched_; }

    // Ends free stitches, those that were let go first, until `most` bytes are left. Those that a
    // stream may still use stay, unless `awaited` (the caller has waited for the device).
    void collect(Bytes most, bool awaited, Device& device);

    // Gives the memory of free pieces back; `uncut`: only of those that were never cut. Of
    // `awaited` see above. What the device refuses stays.
    void release(bool uncut, bool awaited, Device& device);

    Bytes held() const { return pages_.held(); }

    Bytes mapped() const { return pages_.mapped(); }

    const AllocatorStats& stats() const { return stats_; }  // segments and maps alone

    // Of a piece: a free stitch may grant more.
    Bytes largest_free() const;

    bool any_free() const;

    void for_each_region(const std::function<void(const Region&)>& visit) const;

  private:
    struct StreamList {
        StreamId stream;
        SizeIndex pieces;
        SizeIndex stitches;
        Bytes free = 0;  // of the pieces
    };

    struct Stitch {
        std::uint32_t root = 0;
        Bytes mapped = 0;            // less than its size: the device failed, nobody gets it
        std::vector<BlockId> parts;  // in order
        std::uint32_t busy = 0;      // of these, pieces that aren't free
        std::uint64_t left = 0;      // when it was let go
    };

    PageTable::PageRange pages_of(BlockId piece) const;
    void cut(BlockId piece, Bytes size);
    void begin_use(BlockId piece, bool stitched, StreamId stream);
    void end_use(BlockId piece);
    BlockId add_stitch(std::uint32_t root, Range range, std::vector<BlockId> parts, Bytes mapped);
    bool end_stitch(BlockId stitch, bool awaited, Device& device);
    bool release_piece(BlockId piece, bool awaited, Device& device);
    void settle(Device& device);

    PageTable pages_;
    Blocks pieces_;
    std::vector<std::vector<BlockId>> over_;  // by piece: the stitches over it
    Blocks views_;                            // the stitches as blocks
    std::vector<Stitch> stitches_;            // by view
    std::vector<StreamList> lists_;
    HashIndex list_numbers_;  // by stream
    PageLeftovers leftovers_;
    Bytes stitched_ = 0;
    std::uint64_t clock_ = 0;
    AllocatorStats stats_;
};

}  // namespace tidemark::policies
