// Findings as text: one wording for the terminal, the page, JSON and the viewer. Pure; strings
// that come from files are made printable.
#pragma once

#include <span>
#include <string>

#include "replay/findings/finding.h"

namespace tidemark {

struct FindingText {
    std::string title;         // one line
    std::string detail = {};   // a few sentences, lines separated by '\n'; may be empty
    std::string command = {};  // a line for a shell; may be empty
};

FindingText finding_text(const findings::Finding& finding);

// "event 5, 1.20 s, in step (3 of 8)"; "" if it is about no event.
std::string finding_position(const findings::Finding& finding);

// A list for the terminal: severity and title, then detail and command below, indented. `brief`
// keeps whole problems and the titles of warnings, and leaves out notes.
std::string findings_text(std::span<const findings::Finding> list, bool brief);

}  // namespace tidemark
