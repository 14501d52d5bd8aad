// Text inside HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::report {

// `text` as it may stand between tags and in quoted attributes: what markup reads as its own is
// written as a reference, control characters and bytes that are no UTF-8 become '?'. O(length).
std::string escaped(std::string_view text);

}  // namespace tidemark::report
