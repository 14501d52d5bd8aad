// Note: a bookmark in a trace: a moment or a stretch that has a name, and what somebody wrote about
// it. And how two lists of them become one, whoever wrote first. Plain values; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark {

// What the numbers of a note count.
enum class NoteAxis : std::uint8_t {
    time,    // nanoseconds since the trace's start
    events,  // from 0
};

struct Note {
    std::string id = {};         // 32 hexadecimal digits, never those of another note
    std::uint64_t revision = 1;  // rises with each change
    bool removed = false;        // then all below is empty: others learn that it is gone
    std::string name = {};
    std::string text = {};  // as long as it takes; may be empty
    NoteAxis axis = NoteAxis::time;
    std::int64_t begin = 0;
    std::optional<std::int64_t> end = {};     // behind begin; none: a moment
    std::optional<std::uint64_t> block = {};  // by its number in the order of birth
    std::uint64_t trace_hash = 0;             // of the trace it was made for; 0 = isn't known

    friend bool operator==(const Note&, const Note&) = default;
};

// What a file may hold.
constexpr std::size_t kMostNotes = 2000;
constexpr std::size_t kLongestNoteName = 200;   // bytes
constexpr std::size_t kLongestNoteText = 4000;  // bytes

// A new id, from the system's random numbers.
std::string new_note_id();

// All notes of both, by id; of one that is in both, the later revision, or of two changes that were
// made at the same time always the same one. So merging is commutative, associative and idempotent.
// Sorted by id. O(n log n).
std::vector<Note> merged_notes(std::vector<Note> first, std::vector<Note> second);

}  // namespace tidemark
