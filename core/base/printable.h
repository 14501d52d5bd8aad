// Foreign text for a terminal: names, paths and messages with unknown content. All of it goes
// through here before it is shown, whatever the command. Our own control sequences (colours, the
// progress line) are added afterwards.
//
// Characters that can't be seen, break a line or change its direction are written as escapes:
//
//   \n \r \t        these three
//   \x1b            another control character (U+0000-1F, U+007F-9F), and a byte that is not UTF-8
//   \u202e          marks and overrides of direction, separators of lines and paragraphs,
//   characters
//                   without width (joiners, byte order marks, soft hyphens)
//   \U000e0041      the same beyond U+FFFF (tags)
//
// A backslash stays as it is: this is for people, and is not parsed again. Pure; O(length).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tidemark {

// The length of the well-formed UTF-8 character at the start of `text`; 0 if there is none (an
// overlong form, a surrogate, anything above U+10FFFF).
std::size_t utf8_length(std::string_view text);

// `text` as one line; as several if `lines`: then new lines are kept.
std::string printable(std::string_view text, bool lines = false);

// Our own JSON, with the same values: the characters listed above are written as JSON escapes
// within its strings; lines are kept.
std::string printable_json(std::string_view json);

// A whole report of ours: keeps lines and colours, and makes any name printable that was forgotten.
std::string printable_report(std::string_view text);

}  // namespace tidemark
