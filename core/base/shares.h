// Shares and changes as text: the ones that every report puts beside figures, in one file so that
// two of them never round alike figures differently. Pure, thread-safe, O(length).
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

// "12.3 %" of `whole`; "" of nothing.
std::string format_share(std::uint64_t part, std::uint64_t whole);

// The same where there is little room: "< 0.1 %", "4.3 %", "85 %".
std::string format_brief_share(std::uint64_t part, std::uint64_t whole);

// "+4.1 %", "-21.7 %" of a change of 0.041 and -0.217.
std::string format_change(double change);

}  // namespace tidemark
