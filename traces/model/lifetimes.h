// Lifetimes: turns the names that a program gives its memory (addresses, ids) into slots.
//
// A slot is free again as soon as its allocation ends, and the last one freed is handed out first,
// so the numbers stay as small as the live set. Memory O(live). Single-threaded; a function of the
// calls alone, so the same trace gives the same slots everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/model/event.h"

namespace tidemark {

// Hands out slots: the lowest-cost dense ids. O(1) each.
class SlotPool {
  public:
    std::uint32_t acquire() {
        if (free_.empty())
            return count_++;
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        return slot;
    }

    void release(std::uint32_t slot) { free_.push_back(slot); }

    std::uint32_t count() const { return count_; }  // every slot given so far is below this

  private:
    std::vector<std::uint32_t> free_;
    std::uint32_t count_ = 0;
};

// A map from 64-bit names to slots of live allocations: open addressing, linear probing, deletion
// by shifting back, so that there are no tombstones. O(1) expected; not for hostile names beyond
// that (the hash is fixed, so a made-up file can make it O(live), never wrong).
class LiveMap {
  public:
    // The slot of `name`, or kNoSlot.
    std::uint32_t find(std::uint64_t name) const;

    // Maps `name`, which must not be mapped yet, to `slot`.
    void insert(std::uint64_t name, std::uint32_t slot);

    // Maps `name` to `slot` and returns what it was mapped to before, or kNoSlot.
    std::uint32_t exchange(std::uint64_t name, std::uint32_t slot);

    // Removes `name` and returns its slot, or kNoSlot if it wasn't there.
    std::uint32_t erase(std::uint64_t name);

    std::size_t size() const { return size_; }

    // Prefetches the entry of `name`, so that looking for it soon needn't wait for memory.
    void prefetch(std::uint64_t name) const { __builtin_prefetch(&entries_[home(name)]); }

  private:
    struct Entry {
        std::uint64_t name = 0;
        std::uint32_t slot = kNoSlot;  // kNoSlot = empty
    };

    std::size_t home(std::uint64_t name) const {
        return static_cast<std::size_t>((name * 0x9e3779b97f4a7c15U) >> shift_);
    }

    void grow();

    std::vector<Entry> entries_ = std::vector<Entry>(16);
    std::size_t size_ = 0;
    unsigned shift_ = 60;  // 64 - log2(entries_.size())
};

}  // namespace tidemark
