// The two fragmentation ratios and the overhead ratio, each with its one definition, for metrics
// that look at a moment (peaks) and at a whole run (means). Pure; O(1).
#pragma once

namespace tidemark::metrics {

// 1 - part / whole: the share of `whole` that is not `part`; 0 if there is no more whole than part.
constexpr double missing_share(double part, double whole) {
    return whole > part ? 1.0 - part / whole : 0.0;
}

// Of what is held from the device, the share that no allocation occupies.
constexpr double external_fragmentation(double active, double reserved) {
    return missing_share(active, reserved);
}

// Of what allocations occupy, the share that the program did not request. `active` rather than
// allocated bytes: requested bytes too count until the device is done with them.
constexpr double internal_fragmentation(double requested, double active) {
    return missing_share(requested, active);
}

}  // namespace tidemark::metrics
