// Steps of a frame before and after the views: keys, new data, requests of views.
#include <algorithm>
#include <cmath>
#include <utility>

#include "replay/facts/readable_axis.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/ranks/rank_names.h"
#include "viz/shell/shell_parts.h"

namespace tidemark::viz {
namespace {

constexpr double kRest = 0.35;      // seconds without movement that end one
constexpr double kHeldZoom = 3;     // times closer for a second of W
constexpr double kHeldPan = 0.9;    // windows for a second of A or D
constexpr double kPlaySeconds = 8;  // that playing takes from one edge of the window to the other

bool contains(const std::vector<Key>& keys, Key wanted) {
    return std::find(keys.begin(), keys.end(), wanted) != keys.end();
}

// Keys that mean something while a text is being typed; true if it was one. Letters of the same
// frame are in the text only when that has been drawn: Enter waits for that.
bool take_typing_key(ShellParts& parts, const KeyPress& press) {
    if (parts.popup == Popup::replay && parts.replay_chooser.take_key(press))
        return true;
    if (press.key == Key::enter && parts.popup == Popup::notice) {
        parts.popup = Popup::none;
    } else if (press.key == Key::escape) {
        perform(parts, {Action::clear, 0});
    } else if (parts.popup == Popup::file) {
        parts.file_chooser.take_key(press);
    } else if (press.key == Key::enter && parts.popup == Popup::prompt) {
        parts.prompt.entered = true;
    } else if (press.key == Key::enter && parts.popup == Popup::table) {
        parts.saving.path.entered = true;
    } else if (parts.find.has_focus && (press.key == Key::enter || press.key == Key::f3)) {
        parts.find.entered = true;
        parts.finds_forward = !press.shift;
    } else {
        return parts.types() || ImGui::GetIO().WantTextInput;
    }
    return true;
}

bool moves_while_held(Action action) {
    return action == Action::zoom_in || action == Action::zoom_out || action == Action::pan_left ||
           action == Action::pan_right;
}

// A missing rank must not hide those that exist.
void show_first_rank(ShellParts& parts) {
    const std::vector<ViewedRun>& runs = parts.session.runs;
    if (parts.run()->state.phase != LoadState::Phase::failed || parts.run()->history)
        return;
    const auto found =
        std::ranges::find_if(runs, [](const ViewedRun& run) { return run.history != nullptr; });
    if (found != runs.end())
        parts.selection.run = static_cast<std::size_t>(found - runs.begin());
}

// Chooses the best axis for the runs, once, unless the user has moved already. Runs of different
// programs, or of live ones, have only time in common.
void choose_axis(ShellParts& parts) {
    const std::vector<ViewedRun>& runs = parts.session.runs;
    const auto is_loading = [](const ViewedRun& run) {
        return run.state.phase == LoadState::Phase::waiting ||
               run.state.phase == LoadState::Phase::loading;
    };
    if (parts.has_axis || runs.empty() || std::ranges::any_of(runs, is_loading))
        return;
    parts.has_axis = true;
    const ViewedRun* const run = parts.run();
    const bool is_one_trace = std::ranges::all_of(runs, [&](const ViewedRun& each) {
        return each.trace_name == runs.front().trace_name && !each.tiers && !each.live;
    });
    const bool shows_all = parts.camera.window() == Window{0, parts.camera.extent()};
    if (run == nullptr || !run->history || !is_one_trace || !shows_all ||
        parts.camera.unit() != AxisUnit::time)
        return;
    if (facts::readable_axis(*run->history) == AxisUnit::events)
        toggle_axis(parts.session, parts.camera, parts.selection);
}

}  // namespace

void take_keys(ShellParts& parts, const ShellInput& input) {
    for (const KeyPress& press : input.keys) {
        if (take_typing_key(parts, press))
            continue;
        const auto requested = action_of(press);
        // Movements that continue while a key is held move by themselves after the first press.
        if (!requested || (moves_while_held(requested->action) && contains(parts.held, press.key)))
            continue;
        if (parts.popup != Popup::none && requested->action != Action::clear &&
            requested->action != Action::key_sheet)
            parts.popup = Popup::none;
        perform(parts, *requested);
    }
}

void move_by_held(ShellParts& parts, const ShellInput& input, double seconds) {
    if (!ImGui::GetIO().WantTextInput && !parts.types() && !ImGui::GetIO().KeyCtrl) {
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

void update_extent(ShellParts& parts) {
    AxisUnit unit = parts.camera.unit();
    if (unit == AxisUnit::events && extent_of(parts.session, unit) <= 1)
        unit = AxisUnit::time;
    parts.camera.set_extent(unit, extent_of(parts.session, unit));
    choose_axis(parts);
}

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
    if (has_ranks(parts.session, parts.selection)) {
        show_first_rank(parts);
        parts.main.push_back(*find_view("ranks"));
        return;
    }
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

void update_steps(ShellParts& parts) {
    constexpr std::size_t kStepsAFrame = 1U << 16U;  // stretches looked through
    constexpr std::size_t kAllSteps = ~std::size_t{0} >> 1U;
    const ViewedRun* const run = parts.run();
    parts.measured.update(run == nullptr ? nullptr : run->history, parts.camera.unit(),
                          parts.selection.measure, parts.still);
    parts.more_steps = run != nullptr && run->history &&
                       parts.steps.follow(run->history, parts.still ? kAllSteps : kStepsAFrame);
}

void go_to_pending(ShellParts& parts) {
    const ViewedRun* const run =
        parts.pending ? parts.session.shown(parts.pending->run.value_or(parts.selection.run))
                      : nullptr;
    if (run == nullptr || run->state.phase == LoadState::Phase::loading ||
        run->state.phase == LoadState::Phase::waiting)
        return;
    const ViewLocation location = *std::exchange(parts.pending, {});
    const Result<void> gone = go_to(location, parts.session, parts.camera, parts.selection);
    if (!gone)
        parts.say(to_text(gone.error()));
}

void settle(ShellParts& parts) {
    Camera& camera = parts.camera;
    if (!parts.has_begun && page_of(parts) == Page::views) {
        camera.settle();  // so that the user can go back to the start
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

void take_requests(ShellParts& parts) {
    Selection& selection = parts.selection;
    if (!selection.wanted_view.empty()) {
        const auto shown = show_views(parts, std::exchange(selection.wanted_view, {}));
        if (!shown)
            parts.say(to_text(shown.error()));
    }
    if (std::exchange(selection.wants_advice, false) && parts.host.advise)
        parts.host.advise(selection.run);
    if (const std::string policy = std::exchange(selection.wanted_policy, {}); !policy.empty())
        replay_beside(parts, policy, "side-by-side");
    if (std::exchange(selection.wants_policies, false))
        choose_policy(parts);
    if (std::exchange(selection.wants_file, false))
        choose_file(parts);
    take_table(parts);
    take_rows(parts);
    if (!std::exchange(selection.pointed, false))
        selection.hover.reset();
}

}  // namespace tidemark::viz
