// HashIndex: finds the number of a record by a 64-bit key; several records may share a key.
//
// Model: open addressing with linear probing and deletion by shifting back (Knuth, vol. 3, 6.4,
// algorithm R), so that no marks of the dead slow down a program that runs for weeks. Grows at
// three quarters; never shrinks. Keys are scrambled with splitmix64's finish, so that addresses,
// which differ in few bits, spread.
//
// Not thread-safe. Everything but growing is O(1) expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"

namespace tidemark {

class HashIndex {
  public:
    static constexpr std::uint32_t kNothing = 0xffffffff;

    // `value` is not kNothing. A key may be there already; the pair may not.
    void insert(std::uint64_t key, std::uint32_t value) {
        if ((count_ + 1) * 4 > slots_.size() * 3)
            grow();
        put({key, value});
        ++count_;
    }

    // Takes a pair out that must be there (TM_CHECK).
    void erase(std::uint64_t key, std::uint32_t value) {
        TM_CHECK(!slots_.empty());
        std::size_t hole = home(key);
        while (slots_[hole].key != key || slots_[hole].value != value) {
            TM_CHECK(slots_[hole].value != kNothing);
            hole = after(hole);
        }
        --count_;
        for (std::size_t next = after(hole); slots_[next].value != kNothing; next = after(next)) {
            // Does the entry at `next` want to be at `hole` or before it, seen along the probing?
            if (distance(home(slots_[next].key), next) >= distance(hole, next)) {
                slots_[hole] = slots_[next];
                hole = next;
            }
        }
        slots_[hole].value = kNothing;
    }

    // The first value under `key` for which `wanted(value)`, or kNothing.
    template <class Wanted>
    std::uint32_t find(std::uint64_t key, Wanted wanted) const {
        if (slots_.empty())
            return kNothing;
        for (std::size_t i = home(key); slots_[i].value != kNothing; i = after(i))
            if (slots_[i].key == key && wanted(slots_[i].value))
                return slots_[i].value;
        return kNothing;
    }

    std::size_t size() const { return count_; }

  private:
    static constexpr std::size_t kFirstSlots = 64;

    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = kNothing;
    };

    std::size_t home(std::uint64_t key) const {
        key = (key ^ (key >> 30U)) * 0xbf58476d1ce4e5b9U;
        key = (key ^ (key >> 27U)) * 0x94d049bb133111ebU;
        return (key ^ (key >> 31U)) & (slots_.size() - 1);
    }

    std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    std::size_t distance(std::size_t from, std::size_t to) const {
        return (to - from) & (slots_.size() - 1);
    }

    void put(const Slot& slot) {
        std::size_t i = home(slot.key);
        while (slots_[i].value != kNothing)
            i = after(i);
        slots_[i] = slot;
    }

    void grow() {
        std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
        old.swap(slots_);
        for (const Slot& slot : old)
            if (slot.value != kNothing)
                put(slot);
    }

    std::vector<Slot> slots_;  // a power of two of them, or none
    std::size_t count_ = 0;
};

}  // namespace tidemark
