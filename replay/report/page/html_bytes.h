// The bytes of a report page: numbers packed into text that JavaScript unpacks again
// (page/decode.js is the other end). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::report {

// Appends seven bits a byte, the lowest first; the top bit says that more follow.
void put_number(std::string& bytes, std::uint64_t number);

// The same for numbers of either sign: the sign goes into the lowest bit.
void put_difference(std::string& bytes, std::int64_t difference);

// A bare DEFLATE stream (RFC 1951) of `bytes`. O(length).
std::string deflated(std::string_view bytes);

// RFC 4648, with padding. O(length).
std::string base64(std::string_view bytes);

// What the page's unpack() takes: deflated(), then base64(). O(length).
inline std::string packed(std::string_view bytes) {
    return base64(deflated(bytes));
}

}  // namespace tidemark::report
