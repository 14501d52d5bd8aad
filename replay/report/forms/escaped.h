// Text inside HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::report {

// `text` as it may stand between tags and in quoted attributes: what markup reads as its own is
// written as a reference, and what can't be seen as an escape (core/base/printable.h). O(length).
std::string escaped(std::string_view text);

}  // namespace tidemark::report
