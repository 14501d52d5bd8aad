// Foreign text for a terminal: names, paths and messages of which nobody knows what is in them. All
// of it passes here before it is shown, whatever the command; what drives the terminal on purpose
// (colours, the progress line) is ours and is added afterwards.
//
// What can't be seen, breaks a line or turns its direction is written as an escape:
//
//   \n \r \t        these three
//   \x1b            another control character (U+0000-1F, U+007F-9F), and a byte that is no UTF-8
//   \u202e          marks and overrides of direction, separators of lines and paragraphs, what has
//                   no width (joiners, byte order marks, soft hyphens)
//   \U000e0041      the same beyond U+FFFF (tags)
//
// A backslash stays one: this is for people, and is not read back. Pure; O(length).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tidemark {

// The length of the well-formed UTF-8 character that `text` begins with; 0 if it begins with none
// (an overlong form, a surrogate, anything above U+10FFFF).
std::size_t utf8_length(std::string_view text);

// `text` as one line; as several if `lines`: new lines stay what they are then.
std::string printable(std::string_view text, bool lines = false);

// JSON of ours, with the same values: what is listed above is written as JSON's escapes within its
// strings; lines stay.
std::string printable_json(std::string_view json);

// A report of ours as a whole: lines and colours stay, a name that was forgotten in it is made
// printable.
std::string printable_report(std::string_view text);

}  // namespace tidemark
