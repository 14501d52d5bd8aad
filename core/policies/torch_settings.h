// TorchSettings: the settings of PYTORCH_ALLOC_CONF, and how they round sizes. Pure values and
// functions; see torch.cpp for the allocator.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/options.h"
#include "core/base/units.h"

namespace tidemark::policies {

constexpr Bytes kTorchMinBlock = 512;
constexpr Bytes kTorchSmallMax = 1_MiB;      // rounded sizes up to this come from the small pool
constexpr Bytes kTorchSmallSegment = 2_MiB;  // and the page of a small expandable one
constexpr Bytes kTorchLargePage = 20_MiB;    // of a large expandable segment, unless set otherwise
constexpr Bytes kTorchMinLarge = 10_MiB;     // from here on a segment has the size of its request
constexpr Bytes kTorchRoundLarge = 2_MiB;

struct TorchSettings {
    static constexpr Bytes kUnlimited = ~Bytes{0};

    Bytes max_split = kUnlimited;
    Bytes max_non_split_rounding = 20_MiB;
    Bytes large_segment = kTorchLargePage;
    double gc_threshold = 0;  // 0 = off
    // of each octave from 1 MiB up; the ends also serve the rest
    std::array<Bytes, 16> divisions{};
    bool has_divisions = false;
    bool expandable = false;
    Bytes limit = 0;            // on reserved bytes; 0 = none
    double fraction = 0;        // of the device's memory, as another limit; 0 = none; see limit_on
    unsigned version = 211;     // PyTorch's: 100 * major + minor
    bool throws_early = false;  // requests that the limit refuses fail before caches are emptied

    // Addresses that an expandable segment reserves: bytes, or a fraction of the device's memory;
    // none: one eighth more than the device has.
    std::optional<Bytes> reserve_bytes = {};
    std::optional<double> reserve_part = {};

    // Whether a retry looks for a free block after waiting for the device. O(1).
    bool looks_after_wait() const { return version >= 213; }

    // The size of an expandable segment's reservation, on a device with `total` bytes. O(1).
    Bytes reservation_on(Bytes total) const;

    // What a request of `size` bytes (below kLargestRequest) costs. O(1).
    Bytes round_size(Bytes size) const;

    // The size of the segment that is reserved for a rounded size that no free block serves. O(1).
    Bytes segment_size(Bytes rounded) const;

    // The page of an expandable segment.
    Bytes page_size(bool small) const { return small ? kTorchSmallSegment : large_segment; }

    // The limit on reserved bytes, on a device with `total` bytes: the smaller of `limit` and what
    // `fraction` gives (a fraction of 1 is no limit from 2.9 on, and all of `total` before); 0 =
    // none. O(1).
    Bytes limit_on(Bytes total) const;

    // Errors (bad_option): values that PyTorch refuses too, and the backend cudaMallocAsync.
    static Result<TorchSettings> from(const Options& options);
};

// The declarations of all options: every key of PYTORCH_ALLOC_CONF, `version` and `limit`.
// Thread-safe.
std::span<const OptionInfo> torch_options();

// The environment variables whose values are text for these options. Thread-safe.
std::span<const std::string_view> torch_variables();

// Whether `name` is an option that is accepted but changes no decision here (locks, host memory,
// the form of a report). O(options).
bool torch_ignores(std::string_view name);

}  // namespace tidemark::policies
