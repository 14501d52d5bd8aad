// SegmentPools: the segments that are held while a record is replayed, and the pool of each.
//
// A snapshot shows the pool of segments that exist at its end. The pool of other segments is a
// hypothesis (assume_pools), which a search may change before the segment is created.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "replay/record/record_cursor.h"

namespace tidemark {

// A pool that nobody uses: its scope represents a capture on another stream.
constexpr PoolId kForeignScope{0xfffffff0U};

class SegmentPools {
  public:
    // Unless it `infers`, every request is for the pool that its event names, and no pool ends.
    SegmentPools(const DeviceRecord& record, bool infers) : record_(&record), infers_(infers) {}

    bool infers() const { return infers_; }

    void add_seed(const SeedSegment& seed);

    // The cursor's pending segments have been reserved and released as recorded.
    void follow(const RecordCursor& cursor);

    // A request for `pool` succeeded.
    void note_request(PoolId pool) { last_ = pool; }

    const PoolChoices& chosen() const { return chosen_; }

    void choose(std::uint32_t key, PoolChoice choice) { chosen_[key] = choice; }

    void choose_all(const PoolChoices& chosen) { chosen_ = chosen; }

    // The choices that the step at the cursor still needs: keys of PoolChoices.
    std::vector<std::uint32_t> open_choices(const RecordCursor& cursor) const;

    // Of the request at the cursor; of a refusal, which has no address, the likelier ones first.
    std::vector<PoolId> pools_of_request(const RecordCursor& cursor) const;
    PoolId pool_of_request(const RecordCursor& cursor) const;

    // Of the segment that `release` releases; default_pool if that isn't held.
    PoolId pool_of_release(const TraceEvent& release) const;

    // The private pools to which the pending releases belong.
    std::vector<PoolId> ended(const RecordCursor& cursor) const;

    // The keys of choices about the segment that holds `address`, and about those that the pending
    // entries of the cursor take.
    std::vector<std::uint32_t> keys_at(Address address) const;
    std::vector<std::uint32_t> keys_of_births(const RecordCursor& cursor) const;

    // The start of the segment at or below `address`; `address` itself if there is none.
    Address begin_below(Address address) const;

  private:
    // A segment, or a reservation with the addresses that it has had pages at.
    struct Held {
        Address end = Address::null;
        Bytes mapped = 0;
        PoolId pool = PoolId::default_pool;
        const SegmentLife* life = nullptr;  // whose pool is open to doubt
    };

    void follow(std::size_t step, const TraceEvent& entry);
    std::vector<PoolId> pools_of_refusal(const RecordCursor& cursor) const;
    PoolId next_pool(const RecordCursor& cursor) const;
    std::map<Address, Held>::const_iterator holder(Address address) const;
    const SegmentLife* born_at(std::size_t step) const;
    std::vector<std::uint32_t> keys_of(const SegmentLife& life) const;

    PoolId pool_of(const SegmentLife& life) const {
        return tidemark::pool_of(*record_, life, chosen_);
    }

    const DeviceRecord* record_;
    bool infers_;
    PoolChoices chosen_;
    std::map<Address, Held> held_;
    PoolId last_ = PoolId::default_pool;  // of the last request that succeeded
};

}  // namespace tidemark
