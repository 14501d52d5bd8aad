// VpmmSettings: the options of VPMM, from text to values, and their meaning on a device. Values and
// functions without state; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/options.h"
#include "core/device/device.h"

namespace tidemark::policies {

struct VpmmSettings {
    enum class Harvest : std::uint8_t { document, source };
    enum class Growth : std::uint8_t { wait, grow, cost };
    enum class Capture : std::uint8_t { reject, survive };

    Bytes page = 0;     // 0: the device has no virtual memory, all requests are small
    Bytes va_size = 0;  // of a root
    std::uint64_t pages = 0;
    Harvest harvest = Harvest::document;
    Growth growth = Growth::wait;
    Bytes worth_waiting = 0;
    Capture capture = Capture::reject;
    Bytes limit = 0;  // on reserved bytes, as is the soft one; 0 = none
    Bytes soft_limit = 0;
    std::uint64_t waste = 0;  // a region is split for at least its n-th part; 0 = for any
    std::vector<std::uint16_t> peers;

    // Errors (bad_option): a page that is not a multiple of the device's granularity, roots that
    // are not a multiple of the page, peers that are not a list of numbers; (unsupported): initial
    // pages, or peers, on a device that cannot have them.
    static Result<VpmmSettings> from(const Options& options, const Device& device);
};

// The declarations of all options.
std::span<const OptionInfo> vpmm_options();

// The environment variables of the modelled system, each with the option that it sets.
std::span<const std::string_view> vpmm_variables();

}  // namespace tidemark::policies
