// VpmmRegions: what VPMM knows about its addresses: which are granted, free, pending free or
// without memory. For every free region it knows the stream that freed it, the point after which
// that stream no longer uses it, and its age.
//
// Each root is a chain of blocks that tile it, so no address is ever lost and nothing is joined
// across roots. Free regions are ordered by (size, address) for each stream, done ones apart from
// others; and by age in one log (VpmmAges). Regions that are not done wait for a point
// (VpmmPoints). When a point has passed, so have all earlier ones, so finding out what has become
// free takes a few queries to the device, whatever the number of regions.
//
// A value that names its device only in calls. Not thread-safe. O(log regions) a call unless stated
// otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/device/device.h"
#include "core/policies/vpmm_ages.h"
#include "core/policies/vpmm_points.h"
#include "core/regions/blocks.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {

class VpmmRegions {
  public:
    // Who owns a free region: a stream, by number, or nobody (regions from the start).
    using Owner = std::uint32_t;
    static constexpr Owner kNobody = 0;

    // What a block in state `waiting` waits for: Block::waits.
    enum Wait : std::uint32_t {
        zombie,    // its old mappings to be ended, once its point has passed
        deferred,  // an order between streams that could not be made yet; then free
        stuck,     // the device to take back unused memory
    };

    VpmmRegions() { owners_.emplace_back(); }

    // The number of a stream's regions, made if new. O(1) for the last one that was requested.
    Owner owner_of(StreamId stream) {
        if (last_owner_ != kNobody && owners_[last_owner_].stream == stream) [[likely]]
            return last_owner_;
        return find_owner(stream);
    }

    StreamId stream_of(Owner owner) const { return owners_[owner].stream; }

    const Blocks& blocks() const { return blocks_; }

    const Block& operator[](BlockId id) const { return blocks_[id]; }

    // `stream` uses a granted block too.
    void record_use(BlockId id, StreamId stream) {
        Block& block = blocks_[id];
        if (owners_[block.list].stream != stream)
            block.streams.add(stream);
    }

    static bool is_done(const Block& free) { return free.waits == 0; }

    // A new root without memory. Roots are numbered in the order of these calls.
    void add_root(Range range);

    // The smallest range without memory of at least `size`, lowest address first, or kNoBlock.
    BlockId find_hole(Bytes size) const { return holes_.first_from(size, blocks_); }

    // The smallest range without memory that has `size` only together with the usable free region
    // before it; or kNoBlock. O(holes log holes).
    BlockId find_hole_behind(Owner owner, Bytes size) const;

    // Is that a free region that the owner may use without waiting?
    bool is_usable(BlockId id, Owner owner) const {
        return id != kNoBlock && blocks_[id].state == Block::State::free &&
               (blocks_[id].list == owner || is_done(blocks_[id]));
    }

    // The first `size` bytes of a hole become a block of the caller's (state allocated).
    void take_hole(BlockId id, Bytes size);

    // A block of the caller's becomes a hole, joined with its neighbours. Returns its new number.
    BlockId make_hole(BlockId id);

    // Splits a block of the caller's after `size` bytes; the rest belongs to the caller too.
    BlockId cut(BlockId id, Bytes size);

    // A free region of the owner that fits best, whether done or not. Of equally large ones, the
    // one at the lowest address, or at the highest.
    BlockId find_own(Owner owner, Bytes size, bool highest) const;

    // The same among regions of others that are known to be done. O(streams log regions).
    BlockId find_done(Owner but, Bytes size, bool highest) const;

    // Grants the first `size` bytes of a free region. The rest stays free on the same terms, except
    // that it belongs to `owner` from now on.
    void take(BlockId id, Bytes size, Owner owner);

    // Adds a block of the caller's to the free regions of `owner`, joined with neighbours that the
    // owner has too; it is the youngest from now on. `done`: no work on it is outstanding.
    // Otherwise a point is recorded, or later if the device is capturing or refuses now. Returns
    // its new number.
    BlockId free(BlockId id, Owner owner, bool done, Device& device);

    // Cuts `size` bytes off the front of a free region as a zombie, or all of it. The rest stays
    // free on the same terms.
    void make_zombie(BlockId id, Bytes size);

    // A block of the caller's becomes a zombie that waits for nothing, or stuck.
    void set_waiting(BlockId id, Wait wait);

    // A whole free region becomes a block of the caller's.
    void withdraw(BlockId id);

    // Asks the device which points of the owner have passed; or is told that all have. Regions and
    // zombies that waited for them are done. Not during a capture.
    void poll(Owner owner, Device& device);
    void all_passed(Owner owner);

    // Polls the owners that have zombies, or regions that wait; or only those, except `but`.
    void poll_zombies(Device& device);
    void poll_others(Owner but, Device& device);

    // Calls end(id), which removes the zombie's mappings, for each whose point has passed. The
    // zombie then becomes a hole; if `end` returns false, it stays.
    template <class End>
    void end_zombies(End end) {
        std::erase_if(ripe_, [&](BlockId id) {
            if (!end(id))
                return false;
            --zombie_count_;
            make_hole(id);
            return true;
        });
    }

    bool has_zombies() const { return zombie_count_ != 0; }

    // Owners with points that have not passed.
    std::vector<Owner> awaited() const;

    // The event after which a region that is not done may be used by others. Recorded now if it has
    // none yet.
    DeviceResult<EventId> event_of(BlockId id, Device& device);

    // All free regions except `except`: the owner's, oldest first, then the others', oldest first.
    // O(regions).
    std::vector<BlockId> by_age(Owner owner, BlockId except) const;

    Bytes largest_free() const;  // O(streams log regions)

    // A free region that is done belongs to `owner` from now on.
    void hand_over(BlockId id, Owner owner);

  private:
    struct Stream {
        StreamId stream = StreamId::default_stream;
        SizeIndex done;
        SizeIndex waiting;
        VpmmPoints points;
        std::vector<BlockId> zombies;
    };

    Owner find_owner(StreamId stream);
    bool is_free_of(BlockId id, Owner owner) const;
    SizeIndex& index_of(const Block& block);
    void insert(BlockId id);
    void erase(BlockId id);
    void keep_rest(BlockId rest, BlockId of);
    void leave_point(const Block& block);
    void advance(Owner owner, std::size_t passed);

    Blocks blocks_;
    SizeIndex holes_;
    std::vector<Stream> owners_;
    std::map<StreamId, Owner> numbers_;
    Owner last_owner_ = kNobody;
    std::uint32_t root_count_ = 0;
    VpmmAges ages_;
    std::uint64_t next_id_ = 0;
    std::size_t free_count_ = 0;
    std::vector<BlockId> ripe_;
    std::size_t zombie_count_ = 0;
};

}  // namespace tidemark::policies
