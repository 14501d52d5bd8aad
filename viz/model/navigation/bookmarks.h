// Bookmarks: those of one trace: kept while one looks, and beside the trace where that is wanted.
// Each change is written in the background and takes along what others have written meanwhile;
// what can't be kept is there for the session, and why is said.
//
// The screen's thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/notes/note.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

class Bookmarks {
  public:
    // Of the trace in that file, whose bookmarks are read at once; empty: it has none. Not `keeps`:
    // nothing is ever written.
    Bookmarks(const std::string& trace_path, bool keeps);
    Bookmarks(const Bookmarks&) = delete;
    Bookmarks& operator=(const Bookmarks&) = delete;

    // Waits until all is written.
    ~Bookmarks();

    // Without the removed ones; by axis and position.
    const std::vector<Note>& notes() const { return shown_; }

    // Null if there is none of that id, or name (the first of several).
    const Note* find(std::string_view id) const;
    const Note* named(std::string_view name) const;

    // Changes with notes().
    std::uint64_t revision() const { return revision_; }

    // A new one, or a changed one: the one of its id.
    void put(Note note);
    void remove(const std::string& id);

    // Takes the last change of this session back; false if there is none.
    bool undo();

    // Takes what writing brought. Each frame.
    void poll();

    // Writing goes on.
    bool writing() const { return job_.running(); }

    // Waits until all is written.
    void finish();

    // Where they are kept, or why they aren't: a sentence.
    std::string about() const;

    // What went wrong since it was asked last; empty: nothing.
    std::string take_trouble();

  private:
    void change(Note note);
    void keep();
    void show();

    std::string path_;     // of their file; empty: none
    std::string trouble_;  // why the file is left alone from now on
    std::string new_trouble_;
    std::vector<Note> all_;  // the removed ones as well, by id
    std::vector<Note> shown_;
    std::vector<Note> undo_;  // as they were
    std::uint64_t revision_ = 1;
    bool keeps_ = false;
    bool waits_ = false;  // to be written
    Job<Result<std::vector<Note>>> job_;
};

// The hash of a run's trace; 0: isn't known, as of what lives.
std::uint64_t trace_hash_of(const ViewedRun& run);

// It was made for the trace when that had another content.
bool is_of_another_trace(const Note& note, const ViewedRun& run);

// What a bookmark counts, and where it is on that axis: a moment ends where it begins.
AxisUnit axis_of(const Note& note);
Window stretch_of(const Note& note);

// Where the bookmarks stand on an axis of the run, rising; those of events are nowhere where it has
// none. O(notes log events).
std::vector<PlacedBookmark> placed_bookmarks(const std::vector<Note>& notes, const ViewedRun& run,
                                             AxisUnit unit);

// A new bookmark of what is looked at: the measured stretch if the cursor is in it, else the
// moment; with the selected block if that lives then. None: nothing is looked at.
std::optional<Note> bookmark_here(const ViewedRun& run, AxisUnit unit, const Selection& selection);

// The one that stands nearest to `at`, within `reach` positions; null if there is none.
const PlacedBookmark* bookmark_near(const std::vector<PlacedBookmark>& placed, Position at,
                                    Position reach);

// "1.25 s", "1.20 s to 1.40 s", "event 1,234".
std::string where_text(const Note& note);

}  // namespace tidemark::viz
