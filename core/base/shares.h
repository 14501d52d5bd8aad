// Shares and changes as text, for all reports: in one file so that two of them never round equal
// figures differently. Pure, thread-safe, O(length).
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

// "12.3 %" of `whole`; "" if `whole` is 0.
std::string format_share(std::uint64_t part, std::uint64_t whole);

// The same for narrow columns: "< 0.1 %", "4.3 %", "85 %".
std::string format_brief_share(std::uint64_t part, std::uint64_t whole);

// "+4.1 %" for a change of 0.041, "-21.7 %" for -0.217.
std::string format_change(double change);

}  // namespace tidemark
