// Shell: the window around the views: header, tabs, minimap, side column, tables, status line;
// keys, menus and the way back. It draws through ImGui, which the program renders: into a window, a
// picture in memory, or nothing at all in a test.
//
// A frame: the program fills ImGui's io (size, time since the last frame, mouse, typed text), calls
// ImGui::NewFrame(), then draw(), then ImGui::Render(). Screen's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/report/forms/theme.h"
#include "viz/draw/selectable_text.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/session.h"
#include "viz/shell/keys.h"

namespace tidemark::viz {

// What happened since the last frame, beyond ImGui's io.
struct ShellInput {
    std::vector<KeyPress> keys;        // pressed, in order; auto-repeated ones as well
    std::vector<Key> held;             // down now: W, A, S, D move as long as they are
    std::vector<std::string> dropped;  // paths of files that were dropped on the window
    float scale = 1;                   // of all lengths; the fonts have that size already
    double frame_ms = 0;               // that the last frame took; 0 = isn't shown
    bool still = false;                // a picture for a file: see Frame::still
    SelectableTexts* texts = nullptr;  // gets what may be selected; null: nobody needs it
};

// A live program that can be attached.
struct AttachableProgram {
    std::string name;
    std::int64_t process = 0;
    std::string about;  // "1.2 M events/s"
};

// What the shell requests from the program around it. Empty functions are not offered.
struct ShellHost {
    // Adds what is in these files or folders to the session's runs. Errors: nothing is added, why.
    std::function<Result<void>(const std::vector<std::string>& paths)> open = {};
    // Asks the user for files in its own way, and opens them; empty: the shell lists folders.
    std::function<void()> choose_files = {};
    std::function<void()> cancel_loading = {};
    std::function<void(std::size_t run)> advise = {};  // see ViewedRun::unadvised_events
    // Replays the run's trace under a policy; returns the run that it becomes.
    std::function<Result<std::size_t>(std::size_t run, const std::string& policy)> replay = {};
    // Shows the next GPU of the run's trace; returns the run that it becomes.
    std::function<Result<std::size_t>(std::size_t run)> next_gpu = {};
    std::function<void()> save_image = {};  // of the next frame
    std::function<void(bool paused)> pause = {};
    std::function<bool()> align = {};  // switches: by the clock, or not; returns the new state
    std::function<std::vector<AttachableProgram>()> programs = {};
    std::function<void(const AttachableProgram& program)> attach = {};
    std::function<void()> quit = {};
    bool saves_tables = false;  // to files that the user names
    // Takes a file that was written where the user has no folders, and delivers it.
    std::function<void(const std::string& path)> take_file = {};
};

// What is visible, for tests and for --view.
struct ShellState {
    std::vector<std::string> main;  // names of the views in the large area, from the top
    std::string table;              // in the table area; empty: folded away
    std::string side;
    bool has_strip = true;  // above the views
    std::string page;       // "views", or instead of them "empty", "loading", "error"
    std::string popup;      // "keys", "go", "menu", "open", "replay", "notice",
                            // "table" or empty
    std::string problem;    // of what was entered there, or what the notice says
    std::string message;    // on the status line
    std::string live;       // of the shown run: "live", "paused", "ended"; empty: it was recorded
    bool has_live = false;  // the figures of a live program are shown
    std::string found;      // the search's result, as shown next to its words
    std::size_t runs = 0;
    bool dark = true;
};

struct ShellParts;

class Shell {
  public:
    // `session` must outlive it. The views are made when they are first shown.
    explicit Shell(Session& session, ShellHost host = {});
    Shell(const Shell&) = delete;
    Shell& operator=(const Shell&) = delete;
    ~Shell();

    // One frame.
    void draw(const ShellInput& input);

    // Opens the view of that name where it belongs; "A+B" two main views, one over the other.
    // Errors (not_found): no such view, with the nearest name.
    Result<void> show(std::string_view view);

    // Goes to a location (viz/model/navigation/view_location.h), now if its target is known
    // already, else as soon as it is. Errors (bad_option): not a location.
    Result<void> go(std::string_view location);

    // Searches for those words (viz/model/navigation/filter_query.h), as if they were typed. Errors
    // (bad_option): an invalid word.
    Result<void> find(std::string_view text);

    // Something moves or is being computed: draw again without waiting for input.
    bool busy() const;

    // Checks which programs are live, if what is shown depends on that; true if it looks different
    // now.
    bool look_for_programs();

    void set_dark(bool dark);

    // Shows a sentence on the status line for a few seconds.
    void say(std::string message);

    const Theme& theme() const;
    Camera& camera();
    Selection& selection();
    ShellState state() const;

  private:
    std::unique_ptr<ShellParts> parts_;
};

}  // namespace tidemark::viz
