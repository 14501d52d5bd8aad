// Actions: everything that the shell can do on request, with its keys and titles. Key presses,
// menus and the key sheet all come from this one table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "viz/shell/keys.h"

namespace tidemark::viz {

enum class Action : std::uint8_t {
    zoom_in,
    zoom_out,
    pan_left,
    pan_right,
    fit,
    follow,
    zoom_selected,
    undo,
    redo,
    peak,
    out_of_memory,
    prompt,
    previous_event,
    next_event,
    previous_event_far,
    next_event_far,
    previous_mark,
    next_mark,
    previous_step,
    next_step,
    find,
    next_hit,
    previous_hit,
    clear,
    view,  // the n-th, by a digit
    view_below,
    split,
    next_panel,
    previous_panel,
    fold_side,
    fold_table,
    next_run,
    next_gpu,
    axis,
    colours,
    theme,
    replay_suggested,
    replay_under,
    open_file,
    pause,
    align,
    copy,
    copy_table,
    save_table,
    copy_location,
    save_image,
    key_sheet,
    quit,
};

// Where it is in the menu and on the key sheet.
enum class ActionGroup : std::uint8_t { navigate, go, show, window };

struct ActionInfo {
    Action action = Action::fit;
    ActionGroup group = ActionGroup::navigate;
    std::string_view title;  // in menus: "Zoom in"
    std::string_view about;  // on the key sheet, if the title isn't enough
    KeyPress keys[3];        // keys that trigger it; none at the end
};

// In the order of menus.
std::span<const ActionInfo> all_actions();

const ActionInfo& info_of(Action action);

std::string_view to_text(ActionGroup group);

// The action of a key press. Digits of `view` are 1 to 9.
struct RequestedAction {
    Action action = Action::fit;
    std::size_t digit = 0;
};

std::optional<RequestedAction> action_of(const KeyPress& press);

// "Home, 0": the keys of an action.
std::string keys_text(const ActionInfo& info);

// What the mouse does, for the key sheet: pairs of gesture and meaning.
struct Gesture {
    std::string_view gesture;
    std::string_view meaning;
};

std::span<const Gesture> all_gestures();

}  // namespace tidemark::viz
