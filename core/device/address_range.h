// AddressRange: addresses of a device that stay reserved as long as somebody refers to them, with
// or without memory behind them. Who maps memory there unmaps it before dropping its reference.
#pragma once

#include <functional>
#include <memory>

#include "core/device/device.h"

namespace tidemark {

class AddressRange {
  public:
    // Of the device (Feature::virtual_memory), which outlives it; a multiple of its granularity.
    static Result<std::shared_ptr<const AddressRange>> reserve(Device& device, Bytes size);

    // `end` gives it back.
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
