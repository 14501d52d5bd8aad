// Bookmarks of any bytes: they are refused, or written and read again they are the same.
#include <string_view>

#include "core/base/check.h"
#include "tests/fuzz/targets.h"
#include "traces/notes/notes_json.h"

namespace tidemark::fuzz {

void notes_file(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto notes = parse_notes(text);
    if (!notes) {
        TM_CHECK(!notes.error().what.empty());
        return;
    }
    TM_CHECK(notes->size() <= kMostNotes);
    for (const Note& note : *notes)
        TM_CHECK(note.begin >= 0 && (!note.end || *note.end > note.begin));
    const auto again = parse_notes(notes_text(*notes, "fuzz"));
    TM_CHECK(again && *again == *notes);
    TM_CHECK(merged_notes(*notes, *again) == *notes);
}

}  // namespace tidemark::fuzz
