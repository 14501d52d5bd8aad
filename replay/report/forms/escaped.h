// Text inside HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace tidemark::report {

// `text` made safe between tags and in quoted attributes: characters of markup become references,
// and invisible ones become escapes (core/base/printable.h). O(length).
std::string escaped(std::string_view text);

}  // namespace tidemark::report
