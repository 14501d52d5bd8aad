// Shell: a frame from its input to the last popup.
#include "viz/shell/shell.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/model/navigation/filter_query.h"
#include "viz/model/navigation/navigation.h"
#include "viz/shell/shell_parts.h"
#include "viz/shell/widgets.h"

namespace tidemark::viz {
namespace {

constexpr double kRest = 0.35;      // seconds without movement that end one
constexpr double kHeldZoom = 3;     // times closer for a second of W
constexpr double kHeldPan = 0.9;    // windows for a second of A or D
constexpr float kStripHeight = 54;  // points
constexpr double kPlaySeconds = 8;  // that playing takes from one edge of the window to the other
constexpr double kFrameSeconds = 1.0 / 60;

bool contains(const std::vector<Key>& keys, Key wanted) {
    return std::find(keys.begin(), keys.end(), wanted) != keys.end();
}

std::optional<std::size_t> find_view(std::string_view name) {
    const auto views = all_views();
    for (std::size_t i = 0; i < views.size(); ++i) {
        if (views[i].name == name)
            return i;
    }
    return std::nullopt;
}

tl::unexpected<Error> no_view(std::string_view name) {
    std::vector<std::string_view> names;
    for (const ViewInfo& info : all_views())
        names.push_back(info.name);
    const std::string_view near = nearest(name, names);
    return fail(ErrorCode::not_found, fmt::format("there is no view '{}'", name), "--view",
                near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                             : fmt::format("did you mean {}?", near));
}

// --- keys ----------------------------------------------------------------------------------------

// Keys that mean something while a text is being typed; true if it was one. Letters of the same
// frame are in the text only when that has been drawn: Enter waits until then.
bool take_typing_key(ShellParts& parts, const KeyPress& press) {
    const bool is_prompt = parts.popup == Popup::prompt;
    if (press.key == Key::enter && is_prompt) {
        parts.prompt.entered = true;
    } else if (press.key == Key::escape) {
        perform(parts, {Action::clear, 0});
    } else if (parts.find.has_focus && (press.key == Key::enter || press.key == Key::f3)) {
        parts.find.entered = true;
        parts.finds_forward = !press.shift;
    } else {
        return is_prompt || ImGui::GetIO().WantTextInput;
    }
    return true;
}

bool moves_while_held(Action action) {
    return action == Action::zoom_in || action == Action::zoom_out || action == Action::pan_left ||
           action == Action::pan_right;
}

void take_keys(ShellParts& parts, const ShellInput& input) {
    for (const KeyPress& press : input.keys) {
        if (take_typing_key(parts, press))
            continue;
        const auto requested = action_of(press);
        // What moves while it is held moves by itself after the first press.
        if (!requested || (moves_while_held(requested->action) && contains(parts.held, press.key)))
            continue;
        if (parts.popup != Popup::none && requested->action != Action::clear &&
            requested->action != Action::key_sheet)
            parts.popup = Popup::none;
        perform(parts, *requested);
    }
}

void move_by_held(ShellParts& parts, const ShellInput& input, double seconds) {
    if (!ImGui::GetIO().WantTextInput && parts.popup != Popup::prompt && !ImGui::GetIO().KeyCtrl) {
        const auto pressed = [&](char character) {
            return contains(input.held, key(character)) && contains(parts.held, key(character));
        };
        const double times = ImGui::GetIO().KeyShift ? 5 : 1;
        const double zoom = (pressed('s') ? 1 : 0) - (pressed('w') ? 1 : 0);
        const double pan = (pressed('d') ? 1 : 0) - (pressed('a') ? 1 : 0);
        const Window& window = parts.camera.window();
        if (zoom != 0)
            parts.camera.zoom(std::pow(kHeldZoom, zoom * seconds * times),
                              parts.selection.hover.value_or(window.begin + window.length() / 2));
        if (pan != 0)
            parts.camera.pan(pan * kHeldPan * seconds * times);
    }
    parts.held = input.held;
}

// --- before and after the views ------------------------------------------------------------------

// The axis is as long as the longest run.
void update_extent(ShellParts& parts) {
    AxisUnit unit = parts.camera.unit();
    if (unit == AxisUnit::events && extent_of(parts.session, unit) <= 1)
        unit = AxisUnit::time;
    parts.camera.set_extent(unit, extent_of(parts.session, unit));
}

// The first views for what has come: of a recording the answer; of a living program, which has none
// yet, a timeline over an address map; over tiers, where there are no addresses, a timeline.
void choose_views(ShellParts& parts) {
    if (!parts.table) {
        const std::vector<std::size_t> tables = views_in(Pane::table);
        if (!tables.empty())
            parts.table = tables.front();
    }
    const ViewedRun* const run = parts.run();
    if (parts.has_chosen_main || run == nullptr)
        return;
    parts.main.clear();
    const bool has_answer = run->history && !run->live;
    for (const std::string_view name : {"overview", "timeline", "address-map"}) {
        const bool is_wanted = name == "overview"   ? has_answer
                               : name == "timeline" ? !has_answer
                                                    : run->history && !has_answer;
        if (const auto view = find_view(name); view && is_wanted)
            parts.main.push_back(*view);
    }
    const std::vector<std::size_t> views = views_in(Pane::main);
    if (parts.main.empty() && !views.empty())
        parts.main.push_back(views.front());
}

// What is found in the run that is shown; and the step to it that somebody wanted meanwhile.
void update_search(ShellParts& parts) {
    const ViewedRun* const run = parts.run();
    const auto history = run == nullptr ? nullptr : run->history;
    parts.search.update(history, parts.selection.filter);
    if (parts.still) {
        parts.search.finish();
        parts.search.update(history, parts.selection.filter);
    }
    if (parts.wanted_hit && !parts.search.running())
        step_to_hit(parts, *parts.wanted_hit);
}

// Where somebody wanted to go as soon as there is something to go to.
void go_to_pending(ShellParts& parts) {
    const ViewedRun* const run =
        parts.pending ? parts.session.shown(parts.pending->run.value_or(parts.selection.run))
                      : nullptr;
    if (run == nullptr || run->state.phase == LoadState::Phase::loading ||
        run->state.phase == LoadState::Phase::waiting)
        return;
    const ViewLocation location = *std::exchange(parts.pending, {});
    const auto gone = go_to(location, parts.session, parts.camera, parts.selection);
    if (!gone)
        parts.say(to_text(gone.error()));
}

// A movement that has come to rest can be undone.
void settle(ShellParts& parts) {
    Camera& camera = parts.camera;
    if (!parts.has_begun && page_of(parts) == Page::views) {
        camera.settle();  // where it began can be gone back to
        parts.has_begun = true;
    }
    const bool has_moved =
        camera.window() != parts.last_window || camera.addresses() != parts.last_addresses;
    parts.last_window = camera.window();
    parts.last_addresses = camera.addresses();
    if (has_moved) {
        parts.moved_at = parts.now;
        parts.is_settled = false;
    }
    const bool holds = ImGui::IsAnyMouseDown() || !parts.held.empty();
    if (!parts.is_settled && !holds && !camera.follows() && parts.now - parts.moved_at > kRest) {
        camera.settle();
        parts.is_settled = true;
    }
}

// The shown run's trace under another policy, beside it.
void replay_beside(ShellParts& parts, Shell& shell, const std::string& policy) {
    if (!parts.host.replay)
        return parts.say("Nothing can be replayed from here.");
    const std::size_t run = parts.selection.run;
    const auto made = parts.host.replay(run, policy);
    if (!made)
        return parts.say(to_text(made.error()));
    parts.selection.compared_first = run;
    parts.selection.compared_second = *made;
    if (const auto shown = shell.show("side-by-side"); !shown)
        return parts.say(to_text(shown.error()));
    parts.say("Replaying under " + policy);
}

// The cursor moves over the window in some seconds, and stays at its end.
void play(ShellParts& parts, double seconds) {
    Selection& selection = parts.selection;
    if (!selection.plays || parts.still)
        return;
    const Window& window = parts.camera.window();
    const Position last = window.end - 1;
    const auto step =
        static_cast<Position>(static_cast<double>(window.length()) * seconds / kPlaySeconds);
    selection.cursor =
        std::min(selection.cursor.value_or(window.begin) + std::max<Position>(step, 1), last);
    selection.plays = *selection.cursor < last;
}

void take_requests(ShellParts& parts, Shell& shell) {
    Selection& selection = parts.selection;
    if (!selection.wanted_view.empty()) {
        const auto shown = shell.show(std::exchange(selection.wanted_view, {}));
        if (!shown)
            parts.say(to_text(shown.error()));
    }
    if (std::exchange(selection.wants_advice, false) && parts.host.advise)
        parts.host.advise(selection.run);
    if (const std::string policy = std::exchange(selection.wanted_policy, {}); !policy.empty())
        replay_beside(parts, shell, policy);
    take_table(parts);
    if (!std::exchange(selection.pointed, false))
        selection.hover.reset();
}

// --- the frame -----------------------------------------------------------------------------------

void draw_views(ShellParts& parts, const Layout& layout, float scale) {
    const std::vector<std::size_t> strips = views_in(Pane::strip);
    const float each =
        strips.empty() ? 0 : layout.strip.height() / static_cast<float>(strips.size());
    for (std::size_t i = 0; i < strips.size(); ++i) {
        const float top = layout.strip.top + each * static_cast<float>(i);
        draw_pane(parts, strips[i], {layout.strip.left, top, layout.strip.right, top + each},
                  scale);
    }
    if (!parts.main.empty())
        draw_pane(parts, parts.main.front(), layout.first, scale);
    if (parts.main.size() > 1)
        draw_pane(parts, parts.main[1], layout.second, scale);
}

// A view that has the window to itself: no strip above, no side column, a table only if somebody
// asked for one.
bool fills_window(const ShellParts& parts) {
    return parts.main.size() == 1 && all_views()[parts.main.front()].fills;
}

bool has_table(const ShellParts& parts) {
    return parts.splits.has_table && parts.table &&
           (parts.has_chosen_table || !fills_window(parts));
}

// Where the parts of the window lie. A table that was asked for has the room of the second view
// where there is none for both.
Layout lay_out_window(ShellParts& parts, bool has_views, float scale) {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    // Side column and tables are about blocks, which runs over tiers don't have: a table that
    // somebody wants says so.
    const bool has_blocks = has_views && parts.run()->history;
    const bool fills = fills_window(parts);
    Splits splits = parts.splits;
    splits.has_side = splits.has_side && has_blocks && !fills && !views_in(Pane::side).empty();
    splits.has_table = has_table(parts) && (has_blocks || (has_views && parts.has_chosen_table));
    splits.strip_height = has_views && !fills && !views_in(Pane::strip).empty() ? kStripHeight : 0;
    splits.is_split = parts.main.size() > 1;
    Layout layout = lay_out(size.x, size.y, scale, ImGui::GetFontSize(), splits);
    const auto lacks_table = [&] { return splits.has_table && layout.table.height() <= 0; };
    if (lacks_table() && parts.wants_table && splits.is_split) {
        parts.has_chosen_main = true;
        parts.main.pop_back();
        splits.is_split = false;
        layout = lay_out(size.x, size.y, scale, ImGui::GetFontSize(), splits);
    }
    parts.wants_table = parts.wants_table && !has_views;
    parts.sees_table = !lacks_table();
    parts.draws_table = !has_views || layout.table.height() > 0;
    parts.draws_side = layout.side.width() > 0;
    return layout;
}

void draw_window(ShellParts& parts, float scale) {
    const Page page = page_of(parts);
    const bool has_views = page == Page::views;
    const Layout layout = lay_out_window(parts, has_views, scale);
    Canvas canvas = parts.canvas(scale);
    draw_header(parts, canvas, layout.header);
    if (page != Page::empty)
        draw_tabs(parts, canvas, layout.tabs);
    draw_status(parts, canvas, layout.status);
    if (!has_views) {
        draw_page(parts, page, layout.first, scale);
        return;
    }
    parts.selection.hot_block.reset();
    parts.selection.described.clear();
    draw_views(parts, layout, scale);
    draw_side(parts, canvas, layout.side, scale);
    if (layout.table.height() > 0) {
        draw_table_tabs(parts, canvas, layout.table_tabs);
        draw_pane(parts, *parts.table, layout.table, scale);
    }
    draw_splitters(parts, canvas, layout);
}

void draw_root(ShellParts& parts, float scale) {
    const ImGuiIO& io = ImGui::GetIO();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(io.DisplaySize);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2{0, 0});
    ImGui::Begin("tidemark", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoScrollWithMouse);
    ImGui::PopStyleVar();
    draw_window(parts, scale);
    ImGui::End();
}

}  // namespace

Shell::Shell(Session& session, ShellHost host)
    : parts_(std::make_unique<ShellParts>(session, std::move(host))) {}

Shell::~Shell() = default;

void Shell::draw(const ShellInput& input) {
    ShellParts& parts = *parts_;
    const double seconds = std::clamp(static_cast<double>(ImGui::GetIO().DeltaTime), 0.0, 0.1);
    parts.now += seconds > 0 ? seconds : kFrameSeconds;
    parts.elapsed += std::max(static_cast<double>(ImGui::GetIO().DeltaTime), 0.0);
    parts.still = input.still;
    parts.frame_ms = input.frame_ms;
    if (parts.host.open) {
        for (const std::string& path : input.dropped)
            parts.host.open(path);
    }
    update_extent(parts);
    choose_views(parts);
    go_to_pending(parts);
    update_search(parts);
    take_keys(parts, input);
    move_by_held(parts, input, seconds);
    play(parts, seconds);
    draw_root(parts, input.scale);
    draw_popups(parts, input.scale);
    take_requests(parts, *this);
    settle(parts);
}

Result<void> Shell::show(std::string_view view) {
    bool below = false;
    for (std::size_t begin = 0; begin <= view.size();) {
        const std::size_t end = std::min(view.find('+', begin), view.size());
        const std::string_view name = view.substr(begin, end - begin);
        const auto index = find_view(name);
        if (!index)
            return no_view(name);
        show_view(*parts_, *index, below);
        below = below || all_views()[*index].pane == Pane::main;
        begin = end + 1;
    }
    return {};
}

Result<void> Shell::go(std::string_view text) {
    ShellParts& parts = *parts_;
    TM_ASSIGN(ViewLocation location, parse_target(text));
    if (!location.view.empty())
        TM_TRY(show(location.view));
    const ViewedRun* const run = parts.session.shown(location.run.value_or(parts.selection.run));
    const bool is_known = run != nullptr && run->state.phase == LoadState::Phase::ready;
    if (!is_known) {
        parts.pending = std::move(location);
        return {};
    }
    update_extent(parts);
    return go_to(location, parts.session, parts.camera, parts.selection);
}

Result<void> Shell::find(std::string_view text) {
    ShellParts& parts = *parts_;
    TM_ASSIGN(Filter filter, parse_filter(text));
    filter.hides_freed = parts.selection.filter.hides_freed;
    parts.selection.filter = std::move(filter);
    return {};
}

bool Shell::busy() const {
    const ShellParts& parts = *parts_;
    if (page_of(parts) == Page::views) {
        const auto is_busy = [&](std::optional<std::size_t> view) {
            return view && parts.views[*view] && parts.views[*view]->busy();
        };
        for (const std::size_t view : parts.main) {
            if (is_busy(view))
                return true;
        }
        for (const std::size_t strip : views_in(Pane::strip)) {
            if (!fills_window(parts) && is_busy(strip))
                return true;
        }
        // What has no room isn't drawn, and so never gets done with what it works out.
        if ((parts.splits.has_side && parts.draws_side && is_busy(parts.side)) ||
            (parts.splits.has_table && parts.draws_table && is_busy(parts.table)))
            return true;
    }
    if (parts.search.running())
        return true;
    if (parts.still)
        return false;
    const bool blinks = ImGui::GetIO().ConfigInputTextCursorBlink &&
                        (parts.find.has_focus || parts.popup == Popup::prompt);
    return parts.selection.plays || !parts.held.empty() || !parts.is_settled ||
           parts.now < parts.message_until || blinks || parts.pending;
}

bool Shell::look_for_programs() {
    ShellParts& parts = *parts_;
    const bool is_empty = page_of(parts) == Page::empty;  // it says what they do as well
    if (!parts.host.programs || !parts.host.attach || !(is_empty || has_ended(parts.run())))
        return false;
    std::vector<AttachableProgram> programs = parts.host.programs();
    std::swap(programs, parts.programs);
    parts.programs_requested = parts.elapsed;
    return is_empty || !std::equal(programs.begin(), programs.end(), parts.programs.begin(),
                                   parts.programs.end(), [](const auto& a, const auto& b) {
                                       return a.process == b.process && a.name == b.name;
                                   });
}

void Shell::set_dark(bool dark) {
    parts_->dark = dark;
}

void Shell::say(std::string message) {
    parts_->say(std::move(message));
}

const Theme& Shell::theme() const {
    return parts_->theme();
}

Camera& Shell::camera() {
    return parts_->camera;
}

Selection& Shell::selection() {
    return parts_->selection;
}

ShellState Shell::state() const {
    const ShellParts& parts = *parts_;
    ShellState state;
    for (const std::size_t view : parts.main)
        state.main.emplace_back(all_views()[view].name);
    if (has_table(parts) && parts.draws_table)
        state.table = all_views()[*parts.table].name;
    state.has_strip = !fills_window(parts);
    if (parts.side && parts.splits.has_side && state.has_strip)
        state.side = all_views()[*parts.side].name;
    constexpr std::array<std::string_view, 4> kPages = {"views", "empty", "loading", "error"};
    state.page = kPages[static_cast<std::size_t>(page_of(parts))];
    constexpr std::array<std::string_view, 4> kPopups = {"", "keys", "go", "menu"};
    state.popup = kPopups[static_cast<std::size_t>(parts.popup)];
    if (parts.now < parts.message_until)
        state.message = parts.message;
    state.found =
        parts.find_error.empty() ? parts.search.text(parts.selection.block) : parts.find_error;
    if (const ViewedRun* const run = parts.run(); run != nullptr && run->live)
        state.live = has_ended(run) ? "ended" : run->live->paused ? "paused" : "live";
    state.runs = parts.session.runs.size();
    state.dark = parts.dark;
    return state;
}

}  // namespace tidemark::viz
