// AddressMap: what lives where, for programs that know memory by nothing but its address.
//
// Finds an allocation by its beginning, and by any address inside it: plugins, IPC handles and
// debuggers hold interior pointers, and the driver's own answer is the whole segment. Two hash
// indices over one table of records: one by the beginning; one by size class and cell. An
// allocation of at most 2^k bytes that contains an address begins in the cell of 2^k bytes of that
// address or in the one before, so that an interior address is found with two looks for each class
// that occurs.
//
// Not thread-safe. insert, find and take are O(1) expected; containing is O(classes in use, 60 at
// most) if allocations of a class are about as large, as they are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/hash_index.h"
#include "core/base/vacant_ids.h"

namespace tidemark {

// An allocation as its program knows it.
struct LiveAllocation {
    Address address = Address::null;
    Bytes requested = 0;
    Bytes size = 0;  // granted: at least `requested`
    StreamId stream = StreamId::default_stream;
    PoolId pool = PoolId::default_pool;
    std::uint64_t number = 0;  // of its request: 0 was the first that was granted
};

class AddressMap {
  public:
    struct Entry {
        Allocation allocation;
        Bytes requested = 0;
        StreamId stream = StreamId::default_stream;
        PoolId pool = PoolId::default_pool;
        std::uint64_t number = 0;
    };

    // Ranges of living entries are disjoint and not empty: an allocator's promise (TM_CHECK for the
    // beginnings).
    void insert(const Entry& entry);

    // The entry that begins at `address`, or null. Valid until the next insert or take.
    const Entry* find(Address address) const;

    // Takes the entry out that begins at `address`; false if there is none.
    bool take(Address address, Entry& taken);

    // The entry with begin <= address < begin + size, or null.
    const Entry* containing(Address address) const;

    // All of them, by number. O(n log n).
    std::vector<LiveAllocation> all() const;

    std::size_t size() const { return by_begin_.size(); }

  private:
    static constexpr unsigned kClasses = 64;

    std::uint32_t search_cell(Address address, unsigned size_class, std::uint64_t cell) const;

    VacantIds numbers_;
    std::vector<Entry> entries_;  // by number; of size 0 where it is vacant
    HashIndex by_begin_;
    HashIndex by_cell_;
    std::array<std::uint32_t, kClasses> class_counts_{};
    std::uint64_t classes_ = 0;  // a bit for each class that occurs
};

LiveAllocation to_live(const AddressMap::Entry& entry);

}  // namespace tidemark
