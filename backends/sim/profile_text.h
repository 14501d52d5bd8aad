// A device profile as text, with the measurements: `tidemark calibrate` writes it and load_profile
// reads it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/sim/costs.h"

namespace tidemark {

// One operation at one size: quantiles by nearest rank, and the mean without outliers, which is
// what a profile charges.
struct MeasuredCost {
    std::string operation;  // "malloc", "set_access in a range"
    std::string state;      // that it was measured in: "fresh", "churn"; "" = there is only one
    Bytes bytes = 0;
    std::uint64_t count = 0;
    Nanoseconds p10 = 0;
    Nanoseconds median = 0;
    Nanoseconds mean = 0;
    Nanoseconds p90 = 0;
};

// In addition to the prices, for people.
struct ProfileNotes {
    std::vector<MeasuredCost> measured;
    std::vector<std::pair<std::string, std::string>> derived;  // what was not measured, and why
};

// JSON with one curve or measurement per line, so that a diff shows what changed. parse_profile
// reads it as an equal profile. Pure. O(points + measurements).
std::string profile_text(const CostProfile& profile, const ProfileNotes& notes);

}  // namespace tidemark
