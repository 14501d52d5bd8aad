// TorchPools: the pools of PyTorch's allocator, and the free blocks of each stream in them.
//
// A pool family is what a program calls a pool: the default one, a graph's, a MemPool. It has two
// pools, of small and of large blocks; a pool has a list for each stream that it served. Families,
// pools and lists have small numbers; the pools of family f are 2f (small) and 2f + 1 (large). The
// blocks themselves belong to the caller: a free one is in the index of its list, joined with its
// neighbours, and an unmapped one in its list's `unmapped`.
//
// A device that is too small causes failures by the thousand, and there may be as many pools. So
// what a failed request needs to know (what can be released, which families lend, the largest free
// block) is found without walking the pools that have none of it. A value; not thread-safe. O(log
// n) in families and streams unless stated otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/vacant_ids.h"
#include "core/policies/torch_settings.h"
#include "core/regions/blocks.h"
#include "core/regions/max_tree.h"
#include "core/regions/size_index.h"

namespace tidemark::policies {

class TorchPools {
  public:
    enum Kind : std::uint8_t { small = 0, large = 1 };

    // The free blocks of one stream in one pool, and the unmapped parts of its reservations.
    struct List {
        SizeIndex free;
        std::vector<BlockId> unmapped;  // by address
        StreamId stream = StreamId::default_stream;
        std::uint32_t pool = 0;
        bool releasable = false;  // it may have a free block that can be released in part
    };

    struct Pool {
        std::uint64_t searches = 0;             // PyTorch's get_free_blocks_call_count: its clock
        std::vector<std::uint32_t> lists;       // by stream, ascending
        std::vector<std::uint32_t> releasable;  // of these, in no order
    };

    struct Family {
        PoolId id = PoolId::default_pool;
        PoolTraits traits;
        std::uint32_t scopes = 0;  // open ones
        bool closed = false;       // no more requests will come for it
        Bytes reserved = 0;
    };

    TorchPools() { family(PoolId::default_pool); }

    // The number of that family, made if new.
    std::uint32_t family(PoolId id);

    // The number of the stream's list in `pool`, made if new.
    std::uint32_t find_list(std::uint32_t pool, StreamId stream);

    // As above, for a request; the default pool's last list of each kind is found in O(1).
    std::uint32_t list_of(PoolId id, Kind kind, StreamId stream) {
        const std::uint32_t last = last_list_[kind];
        if (id == PoolId::default_pool && last < lists_.size() && lists_[last].stream == stream)
            [[likely]]
            return last;
        return find_list(2 * family(id) + kind, stream);
    }

    List& list(std::uint32_t number) { return lists_[number]; }

    const List& list(std::uint32_t number) const { return lists_[number]; }

    Pool& pool(std::uint32_t number) { return pools_[number]; }

    Pool& pool_of(std::uint32_t list) { return pools_[lists_[list].pool]; }

    Kind kind_of(std::uint32_t list) const { return static_cast<Kind>(lists_[list].pool % 2); }

    Family& family_of(std::uint32_t list) { return families_[lists_[list].pool / 2]; }

    const Family& family_of(std::uint32_t list) const { return families_[lists_[list].pool / 2]; }

    Family& numbered(std::uint32_t family) { return families_[family]; }

    // The families by id. Do not make or forget any while walking.
    const std::map<PoolId, std::uint32_t>& families() const { return numbers_; }

    // Of these, those whose traits say serves_on_refusal.
    const std::map<PoolId, std::uint32_t>& lenders() const { return lenders_; }

    // The closed ones that may have something to release, or can be forgotten; ascending.
    std::vector<PoolId> closed() const { return {closed_.begin(), closed_.end()}; }

    void set_traits(std::uint32_t family, PoolTraits traits);
    void set_closed(std::uint32_t family, bool closed);

    // From now on too, pages of reservations of large pools have at least this many bytes.
    void set_large_page(Bytes page) { large_page_ = std::min(large_page_, page); }

    // Puts a block of state `free` among those of its list.
    void insert_free(BlockId id, Blocks& blocks) {
        const Block& block = blocks[id];
        List& into = lists_[block.list];
        blocks[id].stamp = pools_[into.pool].searches;
        into.free.insert(id, blocks);
        if (block.size > largest_[block.list]) [[unlikely]]
            largest_.set(block.list, block.size);
        if (!into.releasable && may_go_back(block, into)) [[unlikely]]
            note_releasable(block.list);
    }

    // Something in the list may be released to the device.
    void note_releasable(std::uint32_t list);

    // The lists of `pool` with something that may be released, by stream, ascending. O(n log n) in
    // them.
    std::vector<std::uint32_t> releasable(std::uint32_t pool) const;

    // The same; afterwards they have none, except what is noted or inserted later.
    std::vector<std::uint32_t> take_releasable(std::uint32_t pool);

    // The size of the largest free block of all lists. O(log n) for each list whose largest one was
    // taken since the last time.
    Bytes largest_free(const Blocks& blocks) const;

    // Joins a block with its free neighbours, which leave their list; returns its new number.
    BlockId join_free_neighbours(BlockId id, Blocks& blocks);

    // Puts a block, unmapped from now on, among those of its list, and takes it out. O(unmapped).
    void insert_unmapped(BlockId id, Blocks& blocks);
    void erase_unmapped(BlockId id, const Blocks& blocks);

    // The smallest free block of at least `size`, or kNoBlock; with `expandable` the one that could
    // grow least, without it none in a reservation.
    BlockId best_fit(std::uint32_t list, Bytes size, bool expandable, const Blocks& blocks) const;

    // The lowest block, free or unmapped, that starts a row of free and unmapped blocks with `size`
    // bytes in total. The row starts at an unmapped block or the free one before it. Or kNoBlock.
    // O(unmapped).
    BlockId find_row(std::uint32_t list, Bytes size, const Blocks& blocks) const;

    // A closed family without memory or addresses is removed, and its number is reused. One that
    // has nothing to release is not in closed() until it does.
    void forget_if_over(PoolId id);

  private:
    static constexpr std::uint32_t kNone = 0xffffffffU;

    // A segment, or a page of a reservation.
    bool may_go_back(const Block& block, const List& list) const {
        if (block.reservation == 0)
            return block.whole_segment();
        return block.size >= (list.pool % 2 == small ? kTorchSmallSegment : large_page_);
    }

    bool has_addresses(std::uint32_t family) const;

    std::vector<List> lists_;
    std::vector<Pool> pools_;
    std::vector<Family> families_;
    VacantIds vacant_;                         // numbers of families that were removed
    std::map<PoolId, std::uint32_t> numbers_;  // of families
    std::map<PoolId, std::uint32_t> lenders_;
    std::set<PoolId> closed_;
    Bytes large_page_ = kTorchLargePage;
    mutable MaxTree largest_;  // by list: at least the size of its largest free block
    std::array<std::uint32_t, 2> last_list_{kNone, kNone};  // of the default family, by kind
};

}  // namespace tidemark::policies
