// ExtentLine: the physical memory of the extent pool, and who has which part of it.
//
// Model: handles of any size are mapped one after another into a reserved range of addresses, the
// line. Blocks tile the line: granted, free, without memory (a hole), or stuck (the device refused
// to take their memory back). A free block may span several handles, so memory is packed by the
// byte and not by the handle. A handle may be mapped a second time elsewhere (ExtentViews); a block
// that is granted there is a granted block here too, so no byte is ever granted twice.
//
// A value that names no device: callers make the device's calls and report the results. Not
// thread-safe. O(log blocks + log handles) a call unless stated otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "core/device/device.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {

// The part that two ranges have in common; size 0 if there is none.
constexpr Range common(Range a, Range b) {
    const Address begin = a.begin < b.begin ? b.begin : a.begin;
    const Address end = a.begin + a.size < b.begin + b.size ? a.begin + a.size : b.begin + b.size;
    return begin < end ? Range{begin, end - begin} : Range{begin, 0};
}

class ExtentLine {
  public:
    struct Handle {
        PhysicalId id{};
        Range home;          // its address range in the line
        bool mapped = true;  // at home; false: stuck, and only to be released
    };

    // How a free block is chosen for a request: among the `candidates` tightest-fitting blocks, the
    // one whose split does the least damage. The free part of a handle is worth its bytes if it is
    // the whole handle, `edge` times its bytes if it touches one end of the handle (it can still be
    // stitched), and nothing otherwise. The rest of the block costs `leftover` times the smaller of
    // the rest and the request. The position in the line costs nothing at the beginning and up to
    // the request's size at the end, so that free memory gathers at the end. If `leftover` equals
    // `edge`, many choices are equal, and the position decides.
    struct Placement {
        std::uint32_t candidates = 8;
        double edge = 0.5;
        double leftover = 0.5;
    };

    // This much of a free block, from its low or its high end.
    struct Fit {
        BlockId block = kNoBlock;
        bool high = false;
    };

    // A free part of one handle.
    struct Piece {
        Range range;
        std::uint32_t handle = 0;
    };

    // The free parts of handles that can be in the middle, at the start or at the end of a row of
    // handles: whole ones, those that reach to their handle's end, and those that reach to its
    // start.
    struct Pieces {
        std::vector<Piece> wholes;
        std::vector<Piece> suffixes;
        std::vector<Piece> prefixes;
    };

    // Called once, before everything else: the reserved addresses.
    void begin(Range addresses);

    Range addresses() const { return addresses_; }

    const Block& operator[](BlockId id) const { return blocks_[id]; }

    Block& operator[](BlockId id) { return blocks_[id]; }

    const Handle& handle(std::uint32_t number) const { return handles_[number]; }

    Handle& handle(std::uint32_t number) { return handles_[number]; }

    std::uint32_t handle_count() const { return static_cast<std::uint32_t>(handles_.size()); }

    // The handle that contains `address`, which has memory.
    std::uint32_t handle_at(Address address) const;

    // The free block to cut for `size` bytes, or kNoBlock. Equal damage: the stream's own block
    // first, then the tighter one, its low end. O(candidates (log blocks + handles in them)).
    Fit find(Bytes size, StreamId stream, const Placement& placement) const;

    // Grants `size` bytes of a free block as find() says; the block that holds them.
    BlockId take(Fit fit, Bytes size);

    // Grants `part` of the free block that contains it.
    BlockId take(BlockId block, Range part);

    // The free block that contains `address`, or kNoBlock. O(blocks).
    BlockId free_block_at(Address address) const;

    // The free blocks, by address. O(free blocks log free blocks).
    std::vector<Range> free_ranges() const;

    // A granted block becomes free, joined with its neighbours. Its streams are those that may
    // still use it; they freed it at the moment `freed` (its stamp, together with the latest of its
    // neighbours').
    void give_back(BlockId id, std::uint64_t freed);

    // A hole of at least `size` bytes: at the end of the line if that has room. kNoBlock: none.
    BlockId hole_for(Bytes size) const;

    // The bytes of the free block right before a hole, which growing there need not add.
    Bytes free_before(BlockId hole) const;

    // The first bytes of a hole have memory now, and are free; the free block that they are in.
    BlockId add(BlockId hole, PhysicalId id, Bytes size);

    // The start of a hole belongs to memory that nobody can use: the device refused to map it
    // there, and to take it back.
    void add_stuck(BlockId hole, PhysicalId id, Bytes size, bool mapped);

    // Handles that are free from end to end, by address. O(free blocks + handles).
    std::vector<std::uint32_t> free_handles() const;

    // Streams that may still use the memory of a free handle.
    StreamSet streams_of(std::uint32_t handle) const;

    // A free or stuck handle is removed: its range becomes a hole, joined with its neighbours.
    // Numbers of later handles change.
    void remove(std::uint32_t handle);

    // A free handle is no longer mapped, but the device keeps its memory.
    void strand(std::uint32_t handle);

    // Numbers of the stuck handles. O(handles).
    std::vector<std::uint32_t> stuck_handles() const;

    // The parts that a row of handles can be made from, without parts below `least`. Each list by
    // size, the largest first, then by address. O(free blocks log free blocks + handles).
    Pieces pieces(Bytes least) const;

    Bytes largest_free() const { return free_.largest(blocks_); }

    // Calls visit(block, run) by address, where a run is a longest row of blocks that belong.
    template <class Belongs, class Visit>
    void for_each_run(Belongs belongs, Visit visit) const {
        blocks_.for_each_run(belongs, visit);
    }

  private:
    bool is(BlockId id, Block::State state) const {
        return id != kNoBlock && blocks_[id].state == state;
    }

    double worth(Range part, const Handle& handle, const Placement& placement) const;
    double damage(const Block& block, Bytes size, bool high, const Placement& placement) const;
    BlockId split(BlockId id, Bytes size);
    BlockId join(BlockId id);
    BlockId isolate(Range part);
    void make_hole(BlockId id);

    Blocks blocks_;
    SizeIndex free_;
    SizeIndex holes_;
    std::vector<Handle> handles_;  // by address
    Range addresses_;
    BlockId last_ = kNoBlock;  // of the chain
};

}  // namespace tidemark::policies
