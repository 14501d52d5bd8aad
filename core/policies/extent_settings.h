// ExtentSettings: the options of the extent pool, from text to values. Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/options.h"
#include "core/device/device.h"
#include "core/policies/extent_line.h"

namespace tidemark::policies {

struct ExtentSettings {
    double slack = 0;            // reserved may exceed the most that was live by this share
    Bytes handle = 0;            // the largest
    Bytes slab = 0;              // for requests below half of it
    double patience = 0;         // stitched pieces for each 12 MiB, before the slack grows
    double worth = 0;            // of a mapping, as a share of the most that was live
    std::uint32_t mappings = 0;  // of views, kept for later
    Bytes expect = 0;            // the most that is expected to be live; 0 = unknown
    Bytes limit = 0;             // on reserved bytes; 0 = none
    Bytes va_size = 0;           // addresses of the line
    ExtentLine::Placement placement;

    // Errors (bad_option): sizes that are not a multiple of the device's granularity;
    // (unsupported): a device without virtual memory.
    static Result<ExtentSettings> from(const Options& options, const Device& device);
};

// The declarations of all options.
std::span<const OptionInfo> extent_options();

}  // namespace tidemark::policies
