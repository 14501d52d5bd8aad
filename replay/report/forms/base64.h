// Base64: bytes as text, for pages that embed them.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::report {

// RFC 4648, with padding. O(length).
std::string base64(std::string_view bytes);

}  // namespace tidemark::report
