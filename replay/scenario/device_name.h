// DeviceName: which machine a scenario names, "sim:h200" or "cuda:0".
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

struct DeviceName {
    bool real = false;
    int ordinal = 0;           // of a CUDA device; devices of a trace beyond the first follow it
    std::string profile = {};  // of a simulated one: a shipped name or a JSON file; "" = none named
};

// "", "sim", "sim:PROFILE", "cuda" (= "cuda:0") or "cuda:N". Errors (bad_option, --device): another
// word, with what it may have meant. O(length).
Result<DeviceName> parse_device_name(std::string_view text);

}  // namespace tidemark
