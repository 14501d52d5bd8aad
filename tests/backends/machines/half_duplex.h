// HalfDuplex: a device whose copies run one after another, whatever stream they are on: both ways
// of its link are one.
#pragma once

#include <cstdint>

#include "backends/wrap/device_call.h"

namespace tidemark::support {

class HalfDuplex final : public WrappedDevice<HalfDuplex> {
  public:
    explicit HalfDuplex(Device& device) : WrappedDevice(device), device_(device) {}

    template <class Make>
    auto around(const CallArguments& /*arguments*/, Make make) -> decltype(make()) {
        return make();
    }

    DeviceResult<void> copy(Address target, Address source, Bytes size,
                            StreamId /*stream*/) override {
        return device_.copy(target, source, size, kStream);
    }

    DeviceResult<void> synchronize(StreamId /*stream*/) override {
        return device_.synchronize(kStream);
    }

  private:
    static constexpr StreamId kStream{1};

    Device& device_;
};

}  // namespace tidemark::support
