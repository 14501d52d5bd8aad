// PinnedSource: where pinned host memory comes from: memory that stays in place, so that a device
// copies from and to it at full speed and without waiting for the program.
//
// Allocating it is slow (about 0.3 s per GiB), so nobody does it while holding a lock. A failure
// has changed nothing. On real devices an address is one of this process (`pointer_of`); on the
// simulator it is a number.
//
// Thread-safety: as each source says; HostBlocks calls a source from one thread at a time.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "core/device/device.h"

namespace tidemark {

class PinnedSource {
  public:
    // Addresses and sizes of blocks and slabs are multiples of this: a cache line.
    static constexpr Bytes kAlignment = 64;

    PinnedSource() = default;
    PinnedSource(const PinnedSource&) = delete;
    PinnedSource& operator=(const PinnedSource&) = delete;
    virtual ~PinnedSource() = default;

    // `size` bytes, 0 < size < kLargestRequest, at a multiple of kAlignment. Their content is
    // unspecified. Errors: as each source says; never an abort.
    virtual Result<Range> allocate(Bytes size) = 0;

    // Frees what `allocate` returned, as a whole. No queued work of the device may use it.
    virtual void free(Range range) = 0;
};

// The byte at an address of this process.
inline std::byte* pointer_of(Address address) {
    return reinterpret_cast<std::byte*>(to_integer(address));
}

inline Address address_of(const void* pointer) {
    return Address{reinterpret_cast<std::uintptr_t>(pointer)};
}

// Pinned by the device's driver (Device::host_malloc). Thread-safe as the device is. Errors
// (driver): the device refuses; (bad_option): not a size.
class DevicePinnedSource final : public PinnedSource {
  public:
    // `device` must outlive the source.
    explicit DevicePinnedSource(Device& device) : device_(device) {}

    Result<Range> allocate(Bytes size) override;

    // If the device refuses, its caller broke an invariant, or the device is lost: then the driver
    // has freed everything already, and nothing is done.
    void free(Range range) override;

  private:
    Device& device_;
};

// Plain memory of the process, not pinned: for where no device copies. Thread-safe. Errors
// (driver): the process can't get more; (bad_option): not a size.
class PlainSource final : public PinnedSource {
  public:
    Result<Range> allocate(Bytes size) override;
    void free(Range range) override;
};

}  // namespace tidemark
