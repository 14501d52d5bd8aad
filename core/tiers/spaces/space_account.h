// SpaceAccount: the arithmetic of one space: what is allocated, what is reserved and not allocated
// yet, and what fits. The only place that maintains the invariant
//
//     used = allocated + unused reservations <= capacity
//
// Plain numbers without a lock: MemorySpace (memory_space.h) puts one around it for real programs,
// a replay uses it directly. Every operation is O(1), checks before it changes anything, and leaves
// the account unchanged if it refuses.
#pragma once

#include "core/base/check.h"
#include "core/base/units.h"

namespace tidemark {

class SpaceAccount {
  public:
    // `limit` <= `capacity`: reservations may raise `used` up to this.
    SpaceAccount(Bytes capacity, Bytes limit) : capacity_(capacity), limit_(limit) {
        TM_CHECK(limit <= capacity);
    }

    Bytes capacity() const { return capacity_; }

    Bytes limit() const { return limit_; }

    Bytes allocated() const { return allocated_; }

    Bytes reserved_unused() const { return reserved_unused_; }

    Bytes used() const { return allocated_ + reserved_unused_; }

    Bytes peak_used() const { return peak_used_; }

    // What could still be allocated without a reservation.
    Bytes available() const { return capacity_ - used(); }

    // What could still be reserved.
    Bytes reservable() const { return used() < limit_ ? limit_ - used() : 0; }

    // Restarts the peak at what is used now.
    void reset_peak() { peak_used_ = used(); }

    // Reserves bytes, all or nothing.
    bool try_reserve(Bytes size) {
        if (size > reservable())
            return false;
        reserved_unused_ += size;
        note_peak();
        return true;
    }

    // Returns reserved bytes that are not allocated.
    void unreserve(Bytes size) {
        TM_CHECK(size <= reserved_unused_);
        reserved_unused_ -= size;
    }

    // Allocates `size` bytes, of which `from_reservation` come from reserved bytes and the rest
    // from available ones, all or nothing.
    bool try_allocate(Bytes size, Bytes from_reservation = 0) {
        TM_CHECK(from_reservation <= size && from_reservation <= reserved_unused_);
        if (size - from_reservation > available())
            return false;
        reserved_unused_ -= from_reservation;
        allocated_ += size;
        note_peak();
        return true;
    }

    // Ends an allocation; `to_reservation` of its bytes are reserved again.
    void deallocate(Bytes size, Bytes to_reservation = 0) {
        TM_CHECK(size <= allocated_ && to_reservation <= size);
        allocated_ -= size;
        reserved_unused_ += to_reservation;
    }

  private:
    void note_peak() {
        if (used() > peak_used_)
            peak_used_ = used();
    }

    Bytes capacity_;
    Bytes limit_;
    Bytes allocated_ = 0;
    Bytes reserved_unused_ = 0;
    Bytes peak_used_ = 0;
};

}  // namespace tidemark
