// StreamSet: which streams may still have queued work that touches a piece of memory. And how to
// order a stream behind them.
//
// Model: a policy that lets one stream reuse what another freed keeps, for each free block, the set
// of streams that used it last. Reuse by the only member needs nothing (stream order). Reuse by
// anybody else first makes that stream wait for everything queued on the others so far, which
// includes the last use. Nothing is recorded when memory is freed, so the common case costs
// nothing.
//
// Values of 8 bytes, O(1) unless stated otherwise. Streams from kTracked on share one member,
// "others"; the only way to wait for it is to wait for the whole device.
#pragma once

#include <bit>
#include <cstdint>

#include "core/device/device.h"

namespace tidemark {

class StreamSet {
  public:
    static constexpr std::uint32_t kTracked = 63;

    constexpr StreamSet() = default;

    constexpr explicit StreamSet(StreamId stream) { add(stream); }

    constexpr void add(StreamId stream) { bits_ |= bit(stream); }

    constexpr void add(StreamSet other) { bits_ |= other.bits_; }

    constexpr bool empty() const { return bits_ == 0; }

    // True if nobody but `stream` is in the set. Never true for a stream among the "others".
    constexpr bool only(StreamId stream) const {
        return (bits_ & ~bit(stream)) == 0 && (bits_ & kOthers) == 0;
    }

    // No "others".
    constexpr bool all_tracked() const { return (bits_ & kOthers) == 0; }

    // Calls visit(StreamId) for each member, except the "others". O(members).
    template <class Visit>
    constexpr void for_each(Visit visit) const {
        for (std::uint64_t rest = bits_ & ~kOthers; rest != 0; rest &= rest - 1)
            visit(StreamId{static_cast<std::uint32_t>(std::countr_zero(rest))});
    }

    // Makes work that is queued on `stream` from now on run after everything that the members have
    // queued so far. Up to one record and one wait per member; a synchronize_device for the
    // "others". After an error some waits may have been queued, which does no harm: waiting twice
    // is allowed.
    DeviceResult<void> order_before(StreamId stream, Device& device) const;

    // Has everything finished that the members have queued so far? Doesn't wait: one record and one
    // query per member. False if there are "others", about whom nothing is known.
    DeviceResult<bool> passed(Device& device) const;

    friend constexpr bool operator==(StreamSet, StreamSet) = default;

  private:
    static constexpr std::uint64_t kOthers = std::uint64_t{1} << kTracked;

    static constexpr std::uint64_t bit(StreamId stream) {
        const std::uint32_t number = to_integer(stream);
        return number < kTracked ? std::uint64_t{1} << number : kOthers;
    }

    std::uint64_t bits_ = 0;
};

}  // namespace tidemark
