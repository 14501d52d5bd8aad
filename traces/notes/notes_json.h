// Notes as JSON: docs/format-notes.md. Takes any bytes. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "traces/notes/note.h"

namespace tidemark {

constexpr std::size_t kLargestNotesFile = std::size_t{16} << 20U;

// Sorted by id. Errors: bad_input (no JSON, something missing, wrong or unknown, above a limit),
// unsupported (another version). O(length).
Result<std::vector<Note>> parse_notes(std::string_view text);

// What parse_notes reads as `notes`; the same notes give the same text. `trace` is the file's name,
// for people. O(notes).
std::string notes_text(std::span<const Note> notes, std::string_view trace);

}  // namespace tidemark
