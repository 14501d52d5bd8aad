// HashIndex: finds the number of a record by a 64-bit key (an address, an id). Several numbers may
// have one key.
//
// Model: open addressing with linear probing, at most half full, and deletion by shifting back
// (Knuth, vol. 3, 6.4, algorithm R), so that no tombstones slow down a program that runs for weeks.
// Never shrinks. The hash is multiplicative (golden ratio), which spreads addresses; it is fixed,
// so a crafted file can make operations O(n), but never wrong.
//
// Not thread-safe. Everything is O(1) expected; insert is amortised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark {

class HashIndex {
  public:
    static constexpr std::uint32_t kNothing = 0xffffffff;

    // A value under `key`, or kNothing.
    std::uint32_t find(std::uint64_t key) const;

    // A value for which `wanted(value)` is true, or kNothing.
    template <class Wanted>
    std::uint32_t find(std::uint64_t key, Wanted wanted) const {
        for (std::size_t i = home(key); slots_[i].value != kNothing; i = after(i))
            if (slots_[i].key == key && wanted(slots_[i].value))
                return slots_[i].value;
        return kNothing;
    }

    // `value` is not kNothing. The key may be there already; the pair may not.
    void insert(std::uint64_t key, std::uint32_t value);

    // Replaces the value under `key` by `value`; returns the old one, or kNothing.
    std::uint32_t exchange(std::uint64_t key, std::uint32_t value);

    // Removes the only value under `key` and returns it, or kNothing.
    std::uint32_t erase(std::uint64_t key);

    // Removes a pair that must exist (TM_CHECK).
    void erase(std::uint64_t key, std::uint32_t value);

    std::size_t size() const { return count_; }

    // Prefetches the memory of `key`, so that a find soon afterwards needn't wait for it.
    void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[home(key)]); }

  private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = kNothing;  // kNothing: empty
    };

    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> shift_);
    }

    std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    void put(const Slot& slot);
    void vacate(std::size_t hole);
    void grow();

    std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two of them
    std::size_t count_ = 0;
    unsigned shift_ = 60;  // 64 - log2(slots_.size())
};

}  // namespace tidemark
