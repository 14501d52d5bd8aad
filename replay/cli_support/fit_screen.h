// fit_screen: a report laid out for a terminal of a given width, so that the terminal breaks no row
// in the middle. What goes to a file or a pipe stays whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tidemark {

// `text` with no line wider than `width` characters (escape sequences take none):
// - of a table ruled with '|', columns that say the same in all rows become a line below it, then
//   others are left out, and a line below says which;
// - a row of a list is broken before its last column, which follows indented;
// - sentences are broken between words.
// Lines to paste ("export ...", "torch.empty(...)") and JSON (what begins with '{' or '[') stay as
// they are. O(length).
std::string fit_screen(std::string_view text, std::size_t width);

}  // namespace tidemark
