// The bookmarks of the trace that is shown: where they stand, and what keys and views do to them.
#include "viz/model/navigation/bookmarks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/blocks/site_names.h"
#include "viz/model/navigation/navigation.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr Position kReach = 100;  // a bookmark is hit within such a part of the window

// Those of the shown run's trace, read when they are first asked for; null if nothing is shown.
Bookmarks* shown_bookmarks(ShellParts& parts) {
    const ViewedRun* const run = parts.run();
    if (run == nullptr)
        return nullptr;
    const std::string& key = run->path.empty() ? run->trace_name : run->path;
    std::unique_ptr<Bookmarks>& kept = parts.bookmarks[key];
    if (!kept)
        kept = std::make_unique<Bookmarks>(run->path, parts.host.keeps_bookmarks);
    return kept.get();
}

// The one of the row under the mouse, else the nearest one where one looks.
const Note* bookmark_at(ShellParts& parts, const Bookmarks& bookmarks) {
    const Selection& selection = parts.selection;
    if (!selection.hot_bookmark.empty())
        return bookmarks.find(selection.hot_bookmark);
    const auto at = selection.looked_at();
    const PlacedBookmark* const near =
        at ? bookmark_near(selection.placed, *at, parts.camera.window().length() / kReach)
           : nullptr;
    return near == nullptr ? nullptr : bookmarks.find(near->id);
}

void edit(ShellParts& parts, Note note, bool is_new) {
    BookmarkEditor& editor = parts.editor;
    editor.is_new = is_new;
    editor.block = note.block              ? note.block
                   : parts.selection.block ? std::optional<std::uint64_t>(*parts.selection.block)
                                           : std::nullopt;
    editor.name.set(note.name);
    editor.name.takes_focus = true;
    editor.name.entered = false;
    editor.text.fill(0);
    note.text.copy(editor.text.data(), editor.text.size() - 1);
    editor.text_takes_focus = false;
    editor.text_has_focus = false;
    editor.note = std::move(note);
    parts.popup = Popup::bookmark;
}

// Where it is, as a location.
void put_location(ViewLocation& location, const Note& note) {
    const AxisUnit unit = axis_of(note);
    const Window stretch = stretch_of(note);
    location.moment = AxisPosition{unit, stretch.begin};
    if (note.end)
        location.measure = {AxisPosition{unit, stretch.begin}, AxisPosition{unit, stretch.end}};
    if (note.block && *note.block < kNoBlock)
        location.block = static_cast<BlockIndex>(*note.block);
}

void go_to_bookmark(ShellParts& parts, const Note& note) {
    ViewLocation location;
    put_location(location, note);
    const auto gone = go_to(location, parts.session, parts.camera, parts.selection);
    parts.say(gone ? fmt::format("{}: {}", one_line(note.name, 80), where_text(note))
                   : to_text(gone.error()));
}

}  // namespace

void update_bookmarks(ShellParts& parts) {
    Bookmarks* const bookmarks = shown_bookmarks(parts);
    Selection& selection = parts.selection;
    selection.bookmarks = bookmarks;
    if (bookmarks == nullptr) {
        selection.placed.clear();
        parts.placed_for = {};
        return;
    }
    bookmarks->poll();
    if (const std::string trouble = bookmarks->take_trouble(); !trouble.empty())
        parts.say("Bookmarks are kept for this session only. " + trouble);
    const ViewedRun& run = *parts.run();
    const PlacedFor now{bookmarks, bookmarks->revision(), run.history.get(),
                        run.history ? run.history->counts().events : 0, parts.camera.unit()};
    if (now == parts.placed_for)
        return;
    parts.placed_for = now;
    selection.placed = placed_bookmarks(bookmarks->notes(), run, now.unit);
}

void take_bookmark_request(ShellParts& parts) {
    const BookmarkRequest request = std::exchange(parts.selection.wanted_bookmark, {});
    Bookmarks* const bookmarks = shown_bookmarks(parts);
    const Note* const note = bookmarks == nullptr ? nullptr : bookmarks->find(request.id);
    if (note == nullptr)
        return;
    if (request.kind == BookmarkRequest::Kind::go_to)
        go_to_bookmark(parts, *note);
    else if (request.kind == BookmarkRequest::Kind::edit)
        edit(parts, *note, false);
}

void edit_bookmark_here(ShellParts& parts) {
    Bookmarks* const bookmarks = shown_bookmarks(parts);
    if (bookmarks == nullptr)
        return;
    if (const Note* const there = bookmark_at(parts, *bookmarks))
        return edit(parts, *there, false);
    std::optional<Note> note = bookmark_here(*parts.run(), parts.camera.unit(), parts.selection);
    if (!note)
        return parts.say("A bookmark is set at the mouse or the cursor: click into a view first.");
    edit(parts, std::move(*note), true);
}

void remove_bookmark_here(ShellParts& parts) {
    Bookmarks* const bookmarks = shown_bookmarks(parts);
    const Note* const there = bookmarks == nullptr ? nullptr : bookmark_at(parts, *bookmarks);
    if (there == nullptr)
        return parts.say("There is no bookmark here.");
    const std::string id = there->id;
    parts.say(fmt::format("Removed {}; Ctrl-Shift-Z brings it back.", one_line(there->name, 80)));
    bookmarks->remove(id);
}

void undo_bookmark(ShellParts& parts) {
    Bookmarks* const bookmarks = shown_bookmarks(parts);
    const bool undone = bookmarks != nullptr && bookmarks->undo();
    parts.say(undone ? "Bookmarks are as they were before the last change."
                     : "No bookmark was changed.");
}

void submit_bookmark(ShellParts& parts) {
    parts.popup = Popup::none;
    Bookmarks* const bookmarks = shown_bookmarks(parts);
    if (bookmarks == nullptr)
        return;
    BookmarkEditor& editor = parts.editor;
    Note note = editor.note;
    note.name = trimmed(editor.name.view().substr(0, kLongestNoteName));
    if (note.name.empty())
        note.name = where_text(note);
    note.text = editor.text.data();
    if (bookmarks->notes().size() >= kMostNotes)
        return parts.say("A trace has at most 2000 bookmarks: remove one first.");
    parts.say(fmt::format("{}. {}", editor.is_new ? "Bookmark set" : "Bookmark changed",
                          bookmarks->about()));
    bookmarks->put(std::move(note));
}

Result<void> resolve_bookmark(ShellParts& parts, ViewLocation& location) {
    if (location.bookmark.empty())
        return {};
    const std::size_t shown = parts.selection.run;
    parts.selection.run = location.run.value_or(shown);
    const Bookmarks* const bookmarks = shown_bookmarks(parts);
    parts.selection.run = shown;
    const std::string name = std::exchange(location.bookmark, {});
    const Note* const note = bookmarks == nullptr ? nullptr : bookmarks->named(name);
    if (note != nullptr) {
        put_location(location, *note);
        return {};
    }
    std::vector<std::string_view> names;
    if (bookmarks != nullptr)
        for (const Note& each : bookmarks->notes())
            names.push_back(each.name);
    const std::string_view near = nearest(name, names);
    return fail(ErrorCode::not_found, fmt::format("there is no bookmark '{}'", name), "go to",
                names.empty() ? "the trace has none"
                : near.empty()
                    ? fmt::format("the trace has {}", format_counted(names.size(), "other one"))
                    : fmt::format("did you mean '{}'?", near));
}

bool writes_bookmarks(const ShellParts& parts) {
    return std::ranges::any_of(parts.bookmarks,
                               [](const auto& each) { return each.second->writing(); });
}

}  // namespace tidemark::viz
