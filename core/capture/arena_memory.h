// ArenaMemory: the device memory behind an arena. Its address never changes.
//
// Growing memory reserves addresses for everything that the device has and maps pages behind them
// as they are needed, so captured work stays valid when more is requested later. Fixed memory is
// one plain allocation, for devices without virtual memory and for programs that know their size.
//
// A value that names its device only in calls: copying it copies the state, for allocators that are
// copied in mid-run. Only release() releases memory. Not thread-safe.
#pragma once

#include "core/device/device.h"
#include "core/regions/reservation.h"

namespace tidemark {

class ArenaMemory {
  public:
    // No memory yet; addresses for as much as the device has. Errors: address_space,
    // not_supported.
    static DeviceResult<ArenaMemory> growing(Device& device);

    // `size` bytes, rounded up to the device's granularity, now and forever. Errors: out_of_memory.
    static DeviceResult<ArenaMemory> fixed(Device& device, Bytes size);

    ArenaMemory() = default;  // empty

    // Makes sure that the first `size` bytes exist. All or nothing. Errors: out_of_memory, also if
    // fixed memory is too small; any error of the device while it maps.
    DeviceResult<void> ensure(Device& device, Bytes size);

    // Releases all of it. The device must have finished with it. After an error some may still be
    // held: call it again.
    DeviceResult<void> release(Device& device);

    // The usable range: from an address that stays, as far as there is memory.
    Range range() const { return {base_, committed_}; }

    // What it holds of the device: the range, and what the device refused to take back.
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
