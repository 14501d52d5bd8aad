// The file of bookmarks beside a trace: read, and written so that nobody's are lost: another
// viewer's notes are taken along, a file that can't be understood is left as it is, and an
// interruption leaves the old file. Thread-safe, as the file system is.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "traces/notes/note.h"

namespace tidemark {

// "run.tmk.notes.json" of "run.tmk".
std::string notes_path(const std::string& trace_path);

// Those of the file, the removed ones as well; none if there is no file. Errors: io; those of
// parse_notes, with the path.
Result<std::vector<Note>> read_notes(const std::string& path);

// Puts `mine` into the file, with those that somebody else has put there meanwhile, and gives all
// of them. What needs no change is not written. Waits for up to two seconds for another program
// that does the same. Errors: those of read_notes: the file is then as it was; io; bad_input (more
// than kMostNotes).
Result<std::vector<Note>> merge_into_notes_file(const std::string& path, std::vector<Note> mine);

}  // namespace tidemark
