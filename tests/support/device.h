// What tests of devices share: a few streams, and why a call was refused.
#pragma once

#include <catch2/catch.hpp>

#include "core/device/device.h"

namespace tidemark::support {

// Three identical ones, or the one that a test is about and another.
constexpr StreamId kA{1};
constexpr StreamId kB{2};
constexpr StreamId kC{3};
constexpr StreamId kStream{1};
constexpr StreamId kOther{2};

// Of a call that must be refused.
DeviceStatus status_of(const auto& result) {
    REQUIRE_FALSE(result.has_value());
    return result.error().status;
}

}  // namespace tidemark::support
