// ShellParts: the shell's state, and the functions that draw its parts and carry out its actions.
// Private to viz/shell: others include shell.h.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viz/model/blocks/block_search.h"
#include "viz/model/navigation/view_location.h"
#include "viz/shell/actions.h"
#include "viz/shell/layout.h"
#include "viz/shell/shell.h"
#include "viz/views/view.h"

namespace tidemark::viz {

enum class Popup : std::uint8_t { none, keys, prompt, menu };

// What the large area shows when it can't show views.
enum class Page : std::uint8_t { views, empty, loading, error };

// A line that the user types.
struct TextField {
    std::array<char, 256> text{};
    bool takes_focus = false;  // with the next frame
    bool has_focus = false;
    bool entered = false;  // Enter was pressed: taken once the frame's letters are in the text

    std::string_view view() const { return text.data(); }

    void set(std::string_view content) {
        text.fill(0);
        content.copy(text.data(), text.size() - 1);
    }
};

struct ShellParts {
    ShellParts(Session& opened, ShellHost around)
        : session(opened), host(std::move(around)), views(all_views().size()) {}

    Session& session;
    ShellHost host;
    Camera camera;
    Selection selection;
    bool dark = true;
    Splits splits;
    bool sees_table = true;         // there was room for it
    bool draws_table = true;        // and one is there
    bool draws_side = true;         // there is room for the side column
    bool wants_table = false;       // it was asked for last: a second view gives way to it
    bool has_chosen_table = false;  // somebody asked: it is there also where it has little to say

    std::vector<std::unique_ptr<View>> views;  // of all_views(), made when first shown
    std::vector<std::size_t> main;             // one or two of them
    std::optional<std::size_t> side;
    std::optional<std::size_t> table;
    bool has_chosen_main = false;  // the user has, not we

    Popup popup = Popup::none;
    TextField find;
    std::string find_error;          // why what is typed there can't be searched for
    Filter find_filter;              // that its text stands for
    BlockSearch search;              // of the selection's filter in the shown run
    bool finds_forward = true;       // from what was entered
    std::optional<bool> wanted_hit;  // once it is found: the next one, or the one before
    TextField prompt;
    std::string prompt_error;
    float sheet_scrolled = 0;             // pixels of the key sheet
    std::optional<ViewLocation> pending;  // gone to as soon as it is known

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

    View& view(std::size_t index) {
        if (!views[index])
            views[index] = all_views()[index].make();
        return *views[index];
    }

    void say(std::string text) {
        message = std::move(text);
        message_until = now + 6;
    }

    // A canvas into the ImGui window at hand.
    Canvas canvas(float scale) const { return Canvas(ImGui::GetWindowDrawList(), theme(), scale); }
};

// Indexes of all_views() that belong there, in their order.
std::vector<std::size_t> views_in(Pane location);

// --- action_handlers.cpp: what actions do -----------------------------------------------------

void perform(ShellParts& parts, const RequestedAction& requested);

// What a table gave of itself goes to the clipboard, after the views were drawn.
void take_table(ShellParts& parts);

// Reads the prompt's line and goes there; what is wrong stays beside it.
void submit_prompt(ShellParts& parts);

// To the next hit or the one before: now, or as soon as the search has found it.
void step_to_hit(ShellParts& parts, bool forward);

// Brings up the view, beneath the one that is there if `below`.
void show_view(ShellParts& parts, std::size_t index, bool below);

// The programs that can be attached, asked for once a second.
const std::vector<AttachableProgram>& known_programs(ShellParts& parts);

// Attaches the program and shows it.
void attach(ShellParts& parts, const AttachableProgram& program);

// Whether a run is of a living program that has ended.
inline bool has_ended(const ViewedRun* run) {
    return run != nullptr && run->live && !run->live->alive;
}

// --- the parts of the window, each drawn into its box -----------------------------------------

void draw_header(ShellParts& parts, Canvas& canvas, const Box& box);

// The search box at the right end of the header, with what was found before it; returns where that
// begins.
float draw_find(ShellParts& parts, Canvas& canvas, const Box& box);

// The tabs of the views that share that part of the window, from the left of `box` on; returns
// where they end.
float draw_view_tabs(ShellParts& parts, Canvas& canvas, const Box& box, Pane pane);
void draw_tabs(ShellParts& parts, Canvas& canvas, const Box& box);
void draw_table_tabs(ShellParts& parts, Canvas& canvas, const Box& box);
void draw_status(ShellParts& parts, Canvas& canvas, const Box& box);
void draw_splitters(ShellParts& parts, Canvas& canvas, const Layout& layout);

// The view into a pane of its own.
void draw_pane(ShellParts& parts, std::size_t view, const Box& box, float scale);

// Side views share the column by tabs.
void draw_side(ShellParts& parts, Canvas& canvas, const Box& box, float scale);

Page page_of(const ShellParts& parts);
void draw_page(ShellParts& parts, Page page, const Box& box, float scale);

void draw_popups(ShellParts& parts, float scale);

}  // namespace tidemark::viz
