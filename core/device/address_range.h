// AddressRange: addresses of a device that stay reserved as long as somebody refers to them, with
// or without memory behind them. Whoever maps memory there unmaps it before dropping the reference.
#pragma once

#include <functional>
#include <memory>

#include "core/device/device.h"

namespace tidemark {

class AddressRange {
  public:
    // Addresses of the device (Feature::virtual_memory), which must outlive it; a multiple of its
    // granularity.
    static Result<std::shared_ptr<const AddressRange>> reserve(Device& device, Bytes size);

    // `end` frees the reservation.
    AddressRange(Range range, std::function<void()> end) : range_(range), end_(std::move(end)) {}

    AddressRange(const AddressRange&) = delete;
    AddressRange& operator=(const AddressRange&) = delete;

    ~AddressRange() { end_(); }

    Range range() const { return range_; }

  private:
    Range range_;
    std::function<void()> end_;
};

}  // namespace tidemark
