// Shares in words: the ones that every report puts beside figures, in one place so that two of them
// never round alike figures differently. Pure, thread-safe, O(length).
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

// "12.3 %" of `whole`; "" of nothing.
std::string format_share(std::uint64_t part, std::uint64_t whole);

// The same where there is little room: "< 0.1 %", "4.3 %", "85 %".
std::string format_brief_share(std::uint64_t part, std::uint64_t whole);

}  // namespace tidemark
