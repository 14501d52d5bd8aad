// Bookmarks: see the header.
#include "viz/model/navigation/bookmarks.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/text.h"
#include "traces/notes/notes_file.h"
#include "viz/model/navigation/view_location.h"
#include "viz/model/session/moment.h"
#include "viz/model/timeline/axis_ticks.h"

namespace tidemark::viz {
namespace {

constexpr std::size_t kMostUndone = 100;

// The number that a file keeps of a position, and back. Beyond what an axis can be it is its end.
std::int64_t number_of(AxisUnit unit, Position position) {
    return unit == AxisUnit::time ? position : position / kPositionsPerEvent;
}

Position position_of(NoteAxis axis, std::int64_t number) {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 62U;
    return axis == NoteAxis::time
               ? std::min(number, kFarthest)
               : std::min(number, kFarthest / kPositionsPerEvent) * kPositionsPerEvent;
}

bool lives_at(const History& history, BlockIndex index, AxisUnit unit, Position at) {
    if (index >= history.counts().blocks)
        return false;
    const Block block = history.block(index);
    return history.position(unit, block.born) <= at &&
           (block.freed == kNever || history.position(unit, block.freed) >= at);
}

}  // namespace

Bookmarks::Bookmarks(const std::string& trace_path, bool keeps)
    : path_(trace_path.empty() ? "" : notes_path(trace_path)), keeps_(keeps) {
    if (path_.empty())
        return;
    Result<std::vector<Note>> read = read_notes(path_);
    if (read)
        all_ = std::move(*read);
    else
        new_trouble_ = trouble_ = to_text(read.error());
    show();
}

Bookmarks::~Bookmarks() {
    finish();
}

void Bookmarks::show() {
    shown_.clear();
    std::ranges::copy_if(all_, std::back_inserter(shown_),
                         [](const Note& note) { return !note.removed; });
    std::ranges::sort(shown_, {}, [](const Note& note) {
        return std::tie(note.axis, note.begin, note.end, note.id);
    });
    ++revision_;
}

const Note* Bookmarks::find(std::string_view id) const {
    const auto found = std::ranges::find(shown_, id, &Note::id);
    return found == shown_.end() ? nullptr : &*found;
}

const Note* Bookmarks::named(std::string_view name) const {
    const auto found = std::ranges::find(shown_, name, &Note::name);
    return found == shown_.end() ? nullptr : &*found;
}

// The note of that id becomes this one, as its latest change.
void Bookmarks::change(Note note) {
    const auto found = std::ranges::find(all_, note.id, &Note::id);
    if (found == all_.end()) {
        all_ = merged_notes(std::move(all_), {std::move(note)});
    } else {
        note.revision = found->revision + 1;
        *found = std::move(note);
    }
    show();
    waits_ = true;
    keep();
}

void Bookmarks::put(Note note) {
    if (undo_.size() == kMostUndone)
        undo_.erase(undo_.begin());
    if (const Note* const before = find(note.id))
        undo_.push_back(*before);
    else
        undo_.push_back({.id = note.id, .removed = true});
    change(std::move(note));
}

void Bookmarks::remove(const std::string& id) {
    if (find(id) != nullptr)
        put({.id = id, .removed = true});
}

bool Bookmarks::undo() {
    if (undo_.empty())
        return false;
    change(std::move(undo_.back()));
    undo_.pop_back();
    return true;
}

// One write at a time: it takes along all that has changed until it begins.
void Bookmarks::keep() {
    if (!waits_ || path_.empty() || !keeps_ || !trouble_.empty() || job_.running())
        return;
    waits_ = false;
    job_.start([path = path_, mine = all_](const Cancelled&) {
        return merge_into_notes_file(path, mine);
    });
}

void Bookmarks::poll() {
    if (std::optional<Result<std::vector<Note>>> written = job_.take()) {
        if (!*written) {
            new_trouble_ = trouble_ = to_text(written->error());
        } else if (std::vector<Note> all = merged_notes(all_, std::move(**written)); all != all_) {
            all_ = std::move(all);
            show();
        }
    }
    keep();
}

void Bookmarks::finish() {
    keep();
    while (std::optional<Result<std::vector<Note>>> written = job_.wait()) {
        if (!*written)
            new_trouble_ = trouble_ = to_text(written->error());
        else
            all_ = merged_notes(std::move(all_), std::move(**written));
        keep();
    }
    show();
}

std::string Bookmarks::about() const {
    const std::string file = std::filesystem::path(path_).filename().string();
    if (!trouble_.empty())
        return "Kept for this session only. " + trouble_;
    if (path_.empty())
        return "Kept for this session only: there is no file that they could lie beside.";
    if (!keeps_)
        return "Changes are kept for this session only: nothing is written from here.";
    return "Kept in " + file;
}

std::string Bookmarks::take_trouble() {
    return std::exchange(new_trouble_, {});
}

std::uint64_t trace_hash_of(const ViewedRun& run) {
    if (run.run)
        return run.run->trace_hash;
    return run.tiers ? run.tiers->trace_hash : 0;
}

bool is_of_another_trace(const Note& note, const ViewedRun& run) {
    const std::uint64_t hash = trace_hash_of(run);
    return note.trace_hash != 0 && hash != 0 && note.trace_hash != hash;
}

AxisUnit axis_of(const Note& note) {
    return note.axis == NoteAxis::time ? AxisUnit::time : AxisUnit::events;
}

Window stretch_of(const Note& note) {
    const Position begin = position_of(note.axis, note.begin);
    return {begin, note.end ? position_of(note.axis, *note.end) : begin};
}

std::vector<PlacedBookmark> placed_bookmarks(const std::vector<Note>& notes, const ViewedRun& run,
                                             AxisUnit unit) {
    const History* const history = run.history.get();
    std::vector<PlacedBookmark> placed;
    for (const Note& note : notes) {
        const AxisUnit from = axis_of(note);
        if (from != unit && history == nullptr)
            continue;
        const auto there = [&](Position at) {
            return from == unit ? at : converted(*history, from, unit, at);
        };
        const Window stretch = stretch_of(note);
        placed.push_back({note.id, note.name, there(stretch.begin), there(stretch.end)});
    }
    std::ranges::stable_sort(placed, {}, &PlacedBookmark::begin);
    return placed;
}

std::optional<Note> bookmark_here(const ViewedRun& run, AxisUnit unit, const Selection& selection) {
    const auto& measure = selection.measure;
    const auto at = selection.looked_at();
    if (!at && !measure)
        return std::nullopt;
    Note note;
    note.id = new_note_id();
    note.axis = unit == AxisUnit::time ? NoteAxis::time : NoteAxis::events;
    note.trace_hash = trace_hash_of(run);
    if (measure && (!at || (*at >= measure->begin && *at <= measure->end))) {
        note.begin = number_of(unit, measure->begin);
        note.end = std::max(number_of(unit, measure->end), note.begin + 1);
    } else {
        note.begin = number_of(unit, std::max<Position>(*at, 0));
    }
    const Position from = position_of(note.axis, note.begin);
    if (selection.block && run.history && lives_at(*run.history, *selection.block, unit, from))
        note.block = *selection.block;
    return note;
}

const PlacedBookmark* bookmark_near(const std::vector<PlacedBookmark>& placed, Position at,
                                    Position reach) {
    const PlacedBookmark* nearest = nullptr;
    Position best = reach;
    for (const PlacedBookmark& bookmark : placed) {
        const Position away = std::abs(bookmark.begin - at);
        if (away > best || (nearest != nullptr && away == best))
            continue;
        best = away;
        nearest = &bookmark;
    }
    return nearest;
}

std::string where_text(const Note& note) {
    const AxisUnit unit = axis_of(note);
    const Window stretch = stretch_of(note);
    const std::string begin = position_text(unit, stretch.begin);
    return note.end ? fmt::format("{} to {}", begin, position_text(unit, stretch.end)) : begin;
}

}  // namespace tidemark::viz
