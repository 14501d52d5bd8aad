// ShellParts: the shell's state, and the functions that draw its parts and carry out its actions.
// Private to viz/shell: others include shell.h.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viz/model/blocks/block_search.h"
#include "viz/model/blocks/table_rows.h"
#include "viz/model/navigation/view_location.h"
#include "viz/model/timeline/step_index.h"
#include "viz/shell/actions.h"
#include "viz/shell/file_chooser.h"
#include "viz/shell/layout.h"
#include "viz/shell/live_growth.h"
#include "viz/shell/replay_chooser.h"
#include "viz/shell/shell.h"
#include "viz/shell/text_field.h"
#include "viz/views/view.h"

namespace tidemark::viz {

enum class Popup : std::uint8_t { none, keys, prompt, menu, file, replay, notice, table };

// What the large area shows when it can't show views.
enum class Page : std::uint8_t { views, empty, loading, error };

// A table that is being saved.
struct TableSaving {
    std::shared_ptr<TableRows> rows;  // whose file is to be named
    TextField path;
    std::string error;   // why it can't be that
    std::string target;  // the file that is written

    std::string name() const { return std::filesystem::path(target).filename().string(); }

    std::shared_ptr<std::atomic<double>> share;
    Job<Result<std::uint64_t>> job;
};

struct ShellParts {
    ShellParts(Session& seen, ShellHost around)
        : session(seen), host(std::move(around)), views(all_views().size()) {}

    Session& session;
    ShellHost host;
    SelectableTexts* texts = nullptr;  // of the current frame
    Camera camera;
    bool has_axis = false;  // chosen for the first runs, or by the user
    Selection selection;
    bool dark = true;
    Splits splits;
    bool sees_table = true;         // there was room for it
    bool draws_table = true;        // and one is there
    bool draws_side = true;         // there is room for the side column
    bool wants_table = false;       // it was requested last: a second view gives way to it
    bool has_chosen_table = false;  // the user requested it: shown even if it has little to show

    std::vector<std::unique_ptr<View>> views;  // of all_views(), made when first shown
    std::vector<std::size_t> main;             // one or two of them
    std::optional<std::size_t> side;
    std::optional<std::size_t> table;
    bool has_chosen_main = false;  // chosen by the user, not by us

    Popup popup = Popup::none;
    TextField find;
    std::string find_error;          // why the typed text there can't be searched for
    Filter find_filter;              // that its text stands for
    BlockSearch search;              // of the selection's filter in the shown run
    bool finds_forward = true;       // from the entered text
    StepIndex steps;                 // of the shown run
    bool more_steps = false;         // not looked through yet
    MeasuredRange measured;          // of the shown run
    LiveGrowth growth;               // of the shown run, if it is live
    std::optional<bool> wanted_hit;  // once it is found: the next one, or the one before
    TextField prompt;
    std::string prompt_error;
    FileChooser file_chooser;
    ReplayChooser replay_chooser;
    std::vector<std::size_t> opened;  // runs that are being opened
    bool shows_opened = false;        // the first of them that has started
    std::vector<Error> notices;       // why files could not be opened; shown once nothing else is
    bool shown_notices = false;       // in the last frame
    float sheet_scrolled = 0;         // pixels of the key sheet
    std::optional<ViewLocation> pending;  // target once it is known

    TableSaving saving;

    std::string message;
    double message_until = 0;
    double now = 0;  // seconds of frames since the start
    bool still = false;
    double frame_ms = 0;

    Window last_window;
    AddressWindow last_addresses;
    double moved_at = 0;  // when the camera moved last
    bool is_settled = true;
    bool has_begun = false;          // there was something to look at
    std::vector<Key> held;           // in the last frame
    double elapsed = 0;              // seconds since the start, also those without frames
    double programs_requested = -1;  // when, of those
    std::vector<AttachableProgram> programs;

    const Theme& theme() const { return dark ? dark_theme() : light_theme(); }

    const ViewedRun* run() const { return session.shown(selection.run); }

    // A text is being typed into a popup.
    bool types() const {
        return popup == Popup::prompt || popup == Popup::file || popup == Popup::replay ||
               popup == Popup::table;
    }

    View& view(std::size_t index) {
        if (!views[index])
            views[index] = all_views()[index].make();
        return *views[index];
    }

    void say(std::string text) {
        message = std::move(text);
        message_until = now + 6;
    }

    // A canvas for the current ImGui window.
    Canvas canvas(float scale) const { return Canvas(ImGui::GetWindowDrawList(), theme(), scale); }
};

// Indexes of all_views() that belong there, in their order.
std::vector<std::size_t> views_in(Pane location);

// --- action_handlers.cpp: what actions do
// -----------------------------------------------------

void perform(ShellParts& parts, const RequestedAction& requested);

// Puts the table that was handed over on the clipboard, after the views were drawn.
void take_table(ShellParts& parts);

// Reads the prompt's line and goes there; errors are shown next to it.
void submit_prompt(ShellParts& parts);

// --- save_table.cpp: tables as files
// ------------------------------------------------------------

// Requests all rows of the table under the mouse.
void ask_for_rows(ShellParts& parts);

// Asks for a name for the rows, and reports what was written; after the views.
void take_rows(ShellParts& parts);

// Begins to write.
void submit_table(ShellParts& parts);

void draw_table_popup(ShellParts& parts, const ImVec2& size, float scale);

// -------------------------------------------------------------------------------------------------

// To the next hit or the previous one: now, or as soon as the search has found it.
void step_to_hit(ShellParts& parts, bool forward);

// Opens the view, below the current one if `below`.
void show_view(ShellParts& parts, std::size_t index, bool below);

// The same by its name; "A+B" two main views. Errors (not_found): no such view, with the nearest.
Result<void> show_views(ShellParts& parts, std::string_view names);

std::optional<std::size_t> find_view(std::string_view name);

// The programs that can be attached, checked once a second.
const std::vector<AttachableProgram>& known_programs(ShellParts& parts);

// Attaches the program and shows it.
void attach(ShellParts& parts, const AttachableProgram& program);

// Shows that run from now on, all of it and nothing selected.
void show_whole_run(ShellParts& parts, std::size_t run);

// --- moving_actions.cpp: those that go somewhere
// ----------------------------------------------

void zoom(ShellParts& parts, double factor);
void zoom_selected(ShellParts& parts);
void step(ShellParts& parts, std::int64_t by);
void go_to_landmark(ShellParts& parts, ViewLocation::Landmark landmark);
void go_to_mark(ShellParts& parts, bool forward);
void go_to_step(ShellParts& parts, bool forward);
void go_through_history(ShellParts& parts, bool forward);
void follow_end(ShellParts& parts);

// To the next hit or the previous one: now, or as soon as the search has found it.
void step_to_hit(ShellParts& parts, bool forward);

// --- opening.cpp: files, and other policies for what is open
// ----------------------------------

// Opens files and folders, and keeps what is open; failures are shown in a notice.
void open_paths(ShellParts& parts, const std::vector<std::string>& paths);

// Shows what was opened as soon as it has started, or why it could not be opened.
void follow_opened(ShellParts& parts);

void choose_file(ShellParts& parts);
void choose_policy(ShellParts& parts);

// Replays the shown run's trace under another policy. Unless two runs are compared already, the
// view of that name shows both.
void replay_beside(ShellParts& parts, const std::string& policy, std::string_view view);

// --- frame_steps.cpp: before and after the views
// ----------------------------------------------

// Keys that are pressed, and those that move as long as they are held (seconds since the last
// frame).
void take_keys(ShellParts& parts, const ShellInput& input);
void move_by_held(ShellParts& parts, const ShellInput& input, double seconds);

// The axis is as long as the longest run.
void update_extent(ShellParts& parts);

// The first views for new runs: for several ranks their overview; for a recording the answer; for a
// live program, which has none yet, a timeline over an address map; over tiers, where there are no
// addresses, a timeline.
void choose_views(ShellParts& parts);

// The search results in the shown run; and the step to a hit that the user requested meanwhile.
void update_search(ShellParts& parts);

// The shown run's steps, and its measured figures.
void update_steps(ShellParts& parts);

// Goes to a requested location as soon as it is known.
void go_to_pending(ShellParts& parts);

// The cursor moves over the window in a few seconds, and stays at its end.
void play(ShellParts& parts, double seconds);

// Carries out what views request from the shell.
void take_requests(ShellParts& parts);

// A movement that has ended can be undone.
void settle(ShellParts& parts);

// --- window_drawing.cpp: the frame's drawing
// --------------------------------------------------

// Header, tabs, views, side column, tables, status line: everything but popups.
void draw_root(ShellParts& parts, float scale);

// A view that has the window to itself: no strip above, no side column, a table only if the user
// requested one.
bool fills_window(const ShellParts& parts);

bool has_table(const ShellParts& parts);

// Whether the shown run is of a live program, or was.
inline bool shows_live(const ShellParts& parts) {
    return parts.run() != nullptr && parts.run()->live && parts.run()->history;
}

// Whether a run is of a live program that has ended.
inline bool has_ended(const ViewedRun* run) {
    return run != nullptr && run->live && !run->live->alive;
}

// --- the parts of the window, each drawn into its box
// -----------------------------------------

void draw_header(ShellParts& parts, Canvas& canvas, const Box& box);

// The search box at the right end of the header, with the result to its left; returns where that
// starts.
float draw_find(ShellParts& parts, Canvas& canvas, const Box& box);

// The tabs of the views that share that part of the window, from the left of `box` on; returns
// where they end.
float draw_view_tabs(ShellParts& parts, Canvas& canvas, const Box& box, Pane pane);
void draw_tabs(ShellParts& parts, Canvas& canvas, const Box& box);
void draw_table_tabs(ShellParts& parts, Canvas& canvas, const Box& box);

// live_bar.cpp: what a live program holds now in large figures, how it grows, and the switches to
// follow and to pause it.
void draw_live_bar(ShellParts& parts, Canvas& canvas, const Box& box);
void draw_status(ShellParts& parts, Canvas& canvas, const Box& box);
void draw_splitters(ShellParts& parts, Canvas& canvas, const Layout& layout);

// The view into a pane of its own.
void draw_pane(ShellParts& parts, std::size_t view, const Box& box, float scale);

// Side views share the column by tabs.
void draw_side(ShellParts& parts, Canvas& canvas, const Box& box, float scale);

Page page_of(const ShellParts& parts);
void draw_page(ShellParts& parts, Page page, const Box& box, float scale);

void draw_popups(ShellParts& parts, float scale);
void draw_file_chooser(ShellParts& parts, const ImVec2& size, float scale);
void draw_replay_chooser(ShellParts& parts, const ImVec2& size, float scale);
void draw_notices(ShellParts& parts, const ImVec2& size, float scale);

}  // namespace tidemark::viz
