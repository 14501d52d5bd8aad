// PlainMemory: where cudaMalloc puts memory. Made for speed: the `cuda-malloc` policy uses it twice
// per allocation of a trace.
//
// Model: sizes are rounded to 512 bytes; each power of two of sizes has a window of addresses of
// its own, cut into slots of that power. So an address determines its slot, and any query needs one
// array access. A freed slot is the first to be reused. A window is at least twice the device's
// memory, so that it cannot run out before memory does. Slots below 2 MiB are aligned to their size
// (at least 512), others to at least 2 MiB.
//
// Not thread-safe. O(1), amortised; memory O(largest number of slots in use).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace tidemark {

class PlainMemory {
  public:
    static constexpr Bytes kUnit = 512;

    // For a device of `capacity` bytes, with addresses from `begin` on.
    PlainMemory(Address begin, Bytes capacity)
        : begin_(to_integer(begin)),
          window_bits_(static_cast<unsigned>(std::bit_width(std::max(capacity, kUnit))) + 1),
          class_count_(window_bits_ - kUnitBits) {}

    // All addresses that can ever be handed out are in this range.
    Range span() const { return {Address{begin_}, Bytes{class_count_} << window_bits_}; }

    // An address for `size` bytes: a multiple of kUnit, not 0, and all taken together at most the
    // capacity.
    Address take(Bytes size) {
        const auto index = static_cast<unsigned>(std::bit_width(size - 1)) - kUnitBits;
        SizeClass& one = classes_[index];
        std::uint64_t slot = one.first_free;
        if (slot != kNone) {
            one.first_free = one.slots[slot] & ~kFree;
        } else {
            slot = one.slots.size();
            one.slots.push_back(0);
        }
        one.slots[slot] = size;
        return Address{begin_ + (std::uint64_t{index} << window_bits_) +
                       (slot << (kUnitBits + index))};
    }

    // Frees the block at exactly `address` and returns its size; 0 if there is none.
    Bytes give(Address address) {
        const Slot at = slot_of(address);
        if (at.offset != 0 || !holds(at)) [[unlikely]]
            return 0;
        SizeClass& one = classes_[at.index];
        const Bytes size = one.slots[at.slot];
        one.slots[at.slot] = kFree | one.first_free;
        one.first_free = at.slot;
        return size;
    }

    // The block around `address`; size 0 if there is none.
    Range find(Address address) const {
        const Slot at = slot_of(address);
        if (!holds(at))
            return {};
        const Bytes size = classes_[at.index].slots[at.slot];
        if (at.offset >= size)
            return {};
        return {Address{to_integer(address) - at.offset}, size};
    }

  private:
    static constexpr unsigned kUnitBits = 9;
    static constexpr unsigned kMaxClasses = 64 - kUnitBits;
    static constexpr std::uint64_t kFree = std::uint64_t{1} << 63;  // else the size is in there
    static constexpr std::uint64_t kNone = kFree - 1;

    struct SizeClass {
        std::vector<std::uint64_t> slots;  // size, or kFree | the next free slot
        std::uint64_t first_free = kNone;
    };

    struct Slot {
        unsigned index;  // of the class; may be out of range
        std::uint64_t slot;
        Bytes offset;
    };

    Slot slot_of(Address address) const {
        const std::uint64_t from_begin = to_integer(address) - begin_;  // wraps below: out of range
        const std::uint64_t index = from_begin >> window_bits_;
        if (index >= class_count_) [[unlikely]]
            return {class_count_, 0, 0};
        const unsigned bits = kUnitBits + static_cast<unsigned>(index);
        const std::uint64_t in_window = from_begin & ((std::uint64_t{1} << window_bits_) - 1);
        return {static_cast<unsigned>(index), in_window >> bits,
                in_window & ((std::uint64_t{1} << bits) - 1)};
    }

    bool holds(const Slot& at) const {
        return at.index < class_count_ && at.slot < classes_[at.index].slots.size() &&
               (classes_[at.index].slots[at.slot] & kFree) == 0;
    }

    std::uint64_t begin_;
    unsigned window_bits_;
    unsigned class_count_;
    std::array<SizeClass, kMaxClasses> classes_;
};

}  // namespace tidemark
