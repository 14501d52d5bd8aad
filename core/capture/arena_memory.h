// ArenaMemory: the device memory behind an arena. Its address never changes.
//
// Growing memory reserves addresses for all that the device has and maps pages behind them as they
// are needed, so what was captured stays valid when more is asked for later. Fixed memory is one
// plain allocation, for devices without virtual memory and for programs that know their size.
//
// A value that names its device only in calls: copying it copies the state, for allocators that are
// copied in mid-run. Nothing is given back but by release(). Not thread-safe.
#pragma once

#include "core/device/device.h"
#include "core/regions/reservation.h"

namespace tidemark {

class ArenaMemory {
  public:
    // No memory yet; addresses for as much as the device has. Errors: address_space,
    // not_supported.
    static DeviceResult<ArenaMemory> growing(Device& device);

    // `size` bytes, rounded up to the device's granularity, now and for ever. Errors:
    // out_of_memory.
    static DeviceResult<ArenaMemory> fixed(Device& device, Bytes size);

    ArenaMemory() = default;  // of nothing

    // Sees to it that the first `size` bytes are there. All or nothing. Errors: out_of_memory, also
    // of fixed memory that is too short; whatever the device says while it maps.
    DeviceResult<void> ensure(Device& device, Bytes size);

    // Gives all of it back. The device must be done with it. After an error some may be held still:
    // call it again.
    DeviceResult<void> release(Device& device);

    // What may be used: from an address that stays, as far as there is memory.
    Range range() const { return {base_, committed_}; }

    // What it takes from the device: the range, and what the device refused to take back.
    Bytes held() const { return grows_ ? reservation_.held() : committed_; }

    // Where to show what the device refused to take back: nothing is ever mapped there.
    Range refused() const;

    bool exists() const { return base_ != Address::null; }

    bool grows() const { return grows_; }

  private:
    Address base_ = Address::null;
    Bytes committed_ = 0;
    bool grows_ = false;
    Reservation reservation_;
};

}  // namespace tidemark
