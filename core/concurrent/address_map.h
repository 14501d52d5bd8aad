// AddressMap: which allocation is where, for programs that know memory only by its address.
//
// Finds an allocation by its start, and by any address inside it: plugins, IPC handles and
// debuggers hold interior pointers, and the driver itself returns the whole segment. Two hash
// indices: one by the start; one by size class and cell. An allocation of at most 2^k bytes that
// contains an address begins in the cell of 2^k bytes of that address or in the one before, so an
// interior address is found with two lookups for each class that occurs.
//
// Thread-safety: one thread at a time may change it or look inside (the owner's lock); `find` may
// run meanwhile, in any thread. make_room and clear require all others to stay out. `find` may
// return an entry that another thread is just removing, or that is in use for another address
// since: see Entry::owner.
//
// insert, find and erase are O(1) expected; containing is O(classes in use, 60 at most) if
// allocations of a class are about equally large, as they are.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
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
    std::uint64_t number = 0;  // of its request: those of one thread are in order, 0 is the first
    std::uint32_t tag = 0;     // the program's own
};

class AddressMap {
  public:
    static constexpr std::uint32_t kNobody = 0xffffffff;

    // What the policy granted. A thread that holds the lock of `owner` and is the owner may read
    // and write the fields; nobody else may, except `owner`, and the allocation's address and size,
    // which do not change while the entry is in the map. A cache line each: neighbours belong to
    // other threads.
    struct alignas(64) Entry {
        Allocation allocation;
        Bytes requested = 0;
        std::uint64_t number = 0;
        StreamId stream = StreamId::default_stream;
        PoolId pool = PoolId::default_pool;
        bool living = false;          // in the program's hands
        bool used_elsewhere = false;  // on another stream than its own
        std::uint32_t tag = 0;
        std::atomic<std::uint32_t> owner = kNobody;

      private:
        friend class AddressMap;
        std::uint32_t id_ = 0;
    };

    // A grant for `owner`, in the program's hands. Ranges are disjoint and not empty: an
    // allocator's promise (TM_CHECK for the starts). The map is not full.
    Entry& insert(const LiveAllocation& grant, std::uint32_t node, std::uint32_t owner);

    // Removes it; it has no owner then. Its owner's lock is held.
    void erase(Entry& entry);

    // The entry that begins at `address`, or null; see above.
    Entry* find(Address address) const {
        const std::uint64_t key = to_integer(address);
        for (std::size_t i = home(key);; i = after(i)) {
            const std::uint64_t found = slots_[i].key.load(std::memory_order_acquire);
            if (found == key)
                return slots_[i].entry.load(std::memory_order_acquire);
            if (found == kEmpty)
                return nullptr;
        }
    }

    // The entry with begin <= address < begin + size, or null.
    Entry* containing(Address address);

    // Whether `insert` needs make_room first.
    bool full() const { return used_ * 2 > slots_.size(); }

    // Grows the index by starts to four times its contents. O(size).
    void make_room();

    void clear();

    // Each entry in the map, in no order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const Entry& entry : entries_) {
            if (entry.owner.load(std::memory_order_relaxed) != kNobody)
                visit(entry);
        }
    }

    std::size_t size() const { return ids_.in_use(); }

  private:
    static constexpr unsigned kClasses = 64;
    static constexpr std::uint64_t kEmpty = 0;  // no allocation begins at null

    // A slot whose entry is null had one; its key keeps later ones of its chain reachable.
    struct Slot {
        std::atomic<std::uint64_t> key = kEmpty;
        std::atomic<Entry*> entry = nullptr;
    };

    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
    }

    std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    void put(std::uint64_t key, Entry& entry);
    std::uint32_t search_cell(Address address, unsigned size_class, std::uint64_t cell) const;

    std::deque<Entry> entries_;  // by id; never moved
    VacantIds ids_;
    std::vector<Slot> slots_ = std::vector<Slot>(4096);  // a power of two of them
    std::size_t used_ = 0;                               // slots that are not empty
    unsigned shift_ = 52;                                // 64 - log2(slots_.size())
    HashIndex by_cell_;
    std::array<std::uint32_t, kClasses> class_counts_{};
    std::uint64_t classes_ = 0;  // a bit for each class that occurs
};

LiveAllocation to_live(const AddressMap::Entry& entry);

}  // namespace tidemark
