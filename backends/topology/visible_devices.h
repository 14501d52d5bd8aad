// Which GPUs a list like CUDA_VISIBLE_DEVICES names.
//
// Entries are numbers, UUIDs ("GPU-5a1b...", a unique prefix is enough) and MIG instances
// ("MIG-<uuid>", or "MIG-GPU-<uuid>/1/0" as before CUDA 11.4), which mean the GPU that they are cut
// from. CUDA stops at the first entry that it cannot resolve, silently hides the rest, and also
// treats a repeated entry as a fault. Here a fault is an Error that says what CUDA would do, and
// duplicates collapse. "-1" ends the list, as it does for CUDA. Pure; thread-safe; O(entries *
// GPUs).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tidemark {

// A GPU as lists name it: its number is its position among all.
struct NamedGpu {
    std::string uuid = {};              // "GPU-..."
    std::vector<std::string> mig = {};  // the instances that it is cut into: "MIG-..."
};

// Numbers of GPUs, in the order in which they are first named.
using VisibleDevices = std::vector<std::size_t>;

// `text`: nothing (the variable is not set): all; empty: none. Errors (bad_option): an entry is out
// of range, an invalid numeric entry (also one with too many digits), unknown, ambiguous or empty.
Result<VisibleDevices> visible_devices(std::optional<std::string_view> text,
                                       std::span<const NamedGpu> all);

}  // namespace tidemark
