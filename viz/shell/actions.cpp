// The table of actions.
#include "viz/shell/actions.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"

namespace tidemark::viz {
namespace {

constexpr KeyPress plain(Key pressed) {
    return {pressed, false, false, false};
}

constexpr KeyPress plain(char pressed) {
    return plain(key(pressed));
}

constexpr KeyPress ctrl(char pressed) {
    return {key(pressed), true, false, false};
}

constexpr KeyPress shift(Key pressed) {
    return {pressed, false, true, false};
}

constexpr KeyPress alt(Key pressed) {
    return {pressed, false, false, true};
}

using enum ActionGroup;

constexpr std::array kActions = {
    ActionInfo{Action::zoom_in, navigate, "Zoom in", "as long as it is held", {plain('w')}},
    ActionInfo{Action::zoom_out, navigate, "Zoom out", "as long as it is held", {plain('s')}},
    ActionInfo{Action::pan_left, navigate, "Left", "as long as it is held", {plain('a')}},
    ActionInfo{Action::pan_right, navigate, "Right", "as long as it is held", {plain('d')}},
    ActionInfo{Action::fit, navigate, "Show all", "", {plain(Key::home), plain('0')}},
    ActionInfo{Action::zoom_selected,
               navigate,
               "Zoom to the selection",
               "the measured stretch or the block's life",
               {plain('z')}},
    ActionInfo{Action::follow,
               navigate,
               "Follow the end",
               "it stays in sight as the run grows",
               {plain(Key::end), plain('l')}},
    ActionInfo{Action::undo,
               navigate,
               "Back",
               "to where you looked before",
               {alt(Key::left), ctrl('z'), plain(Key::backspace)}},
    ActionInfo{Action::redo, navigate, "Forward", "", {alt(Key::right), ctrl('y')}},

    ActionInfo{
        Action::peak, go, "The peak", "of reserved memory, where most is in use", {plain('g')}},
    ActionInfo{Action::out_of_memory, go, "Out of memory", "where it happens first", {plain('o')}},
    ActionInfo{Action::prompt,
               go,
               "A time, event or address...",
               "type 1.25s, #1234 or 0x7f00",
               {shift(key('g')), ctrl('g')}},
    ActionInfo{Action::previous_event,
               go,
               "Previous event",
               "the cursor steps back",
               {plain(Key::left), plain(',')}},
    ActionInfo{Action::next_event,
               go,
               "Next event",
               "the cursor steps on",
               {plain(Key::right), plain('.')}},
    ActionInfo{Action::previous_event_far, go, "100 events back", "", {shift(Key::left)}},
    ActionInfo{Action::next_event_far, go, "100 events on", "", {shift(Key::right)}},
    ActionInfo{Action::next_mark,
               go,
               "Next finding or mark",
               "findings, out of memory, marks",
               {plain('n')}},
    ActionInfo{Action::previous_mark, go, "Previous finding or mark", "", {plain('p')}},
    ActionInfo{
        Action::mark, go, "Set or remove a mark", "at the mouse, else at the cursor", {plain('m')}},
    ActionInfo{Action::find,
               go,
               "Find...",
               "a tag, function, >=1MiB, stream=7",
               {plain('f'), plain('/'), ctrl('f')}},
    ActionInfo{Action::next_hit,
               go,
               "Next hit",
               "the next block that was found",
               {plain(Key::enter), plain(Key::f3)}},
    ActionInfo{Action::previous_hit, go, "Previous hit", "", {shift(Key::enter), shift(Key::f3)}},

    ActionInfo{Action::view, show, "A view alone", "the first tab, the second, ...", {plain('1')}},
    ActionInfo{
        Action::view_below, show, "A view below", "under the one that is there", {shift(key('1'))}},
    ActionInfo{Action::split, show, "One view or two", "timeline over address map", {plain('e')}},
    ActionInfo{Action::next_panel, show, "Next table", "", {plain(Key::tab)}},
    ActionInfo{Action::previous_panel, show, "Previous table", "", {shift(Key::tab)}},
    ActionInfo{Action::fold_side, show, "Side column", "away and back", {plain('i')}},
    ActionInfo{Action::fold_table, show, "Tables", "away and back", {plain('b')}},
    ActionInfo{
        Action::next_run, show, "Next run", "whose blocks and tables are shown", {plain('r')}},
    ActionInfo{
        Action::axis, show, "Time or events", "what the horizontal axis counts", {plain('x')}},
    ActionInfo{
        Action::colours, show, "Next colouring", "by tag, stream, stack, size, age", {plain('c')}},
    ActionInfo{Action::theme, show, "Dark or light", "", {plain('t')}},
    ActionInfo{Action::clear,
               show,
               "Clear",
               "search, measure, selection, one at a time",
               {plain(Key::escape)}},

    ActionInfo{Action::pause,
               window,
               "Pause",
               "a living program's view; it goes on by itself",
               {plain(Key::space)}},
    ActionInfo{Action::copy,
               window,
               "Copy as text",
               "what is under the mouse, else selected",
               {ctrl('c')}},
    ActionInfo{Action::copy_location,
               window,
               "Copy this place",
               "for --goto and the prompt",
               {plain('y'), KeyPress{key('c'), true, true, false}}},
    ActionInfo{Action::save_image, window, "Save a picture", "PNG of this window", {ctrl('s')}},
    ActionInfo{Action::key_sheet,
               window,
               "Keys",
               "this sheet",
               {plain('?'), shift(key('/')), plain(Key::f1)}},
    ActionInfo{Action::quit, window, "Quit", "", {ctrl('q')}},
};

constexpr std::array kGestures = {
    Gesture{"wheel", "zoom about the pointer; Ctrl: finer, Shift: sideways"},
    Gesture{"drag", "move, with any button"},
    Gesture{"Shift-drag", "measure a stretch: its length, events, bytes"},
    Gesture{"click", "put the cursor, select a block"},
    Gesture{"double click", "zoom to a block's life, or to what a row is about"},
    Gesture{"hover", "say everything about what is there"},
    Gesture{"Ctrl-click a tab", "show that view below the one that is there"},
    Gesture{"V", "scale of the timeline: in view, or the capacity"},
    Gesture{"drag an edge", "make a part larger or smaller"},
};

std::optional<std::size_t> digit_of(Key pressed) {
    const auto value = static_cast<std::uint8_t>(pressed);
    if (value < '1' || value > '9')
        return std::nullopt;
    return value - '0';
}

}  // namespace

std::span<const ActionInfo> all_actions() {
    return kActions;
}

const ActionInfo& info_of(Action action) {
    const auto* const found =
        std::find_if(kActions.begin(), kActions.end(),
                     [action](const ActionInfo& info) { return info.action == action; });
    TM_CHECK(found != kActions.end());
    return *found;
}

std::string_view to_text(ActionGroup group) {
    switch (group) {
        case ActionGroup::navigate:
            return "Move";
        case ActionGroup::go:
            return "Go to";
        case ActionGroup::show:
            return "Show";
        case ActionGroup::window:
            return "Window";
    }
    return {};
}

std::optional<RequestedAction> action_of(const KeyPress& press) {
    if (const auto digit = digit_of(press.key); digit && !press.control && !press.alt)
        return RequestedAction{press.shift ? Action::view_below : Action::view, *digit};
    for (const ActionInfo& info : kActions) {
        for (const KeyPress& candidate : info.keys) {
            if (candidate.key != Key::none && candidate == press)
                return RequestedAction{info.action, 0};
        }
    }
    return std::nullopt;
}

std::string keys_text(const ActionInfo& info) {
    if (info.action == Action::view)
        return "1 .. 9";
    if (info.action == Action::view_below)
        return "Shift-1 .. 9";
    std::string text;
    for (const KeyPress& press : info.keys) {
        // "?" is Shift-/ on many keyboards: one of them is enough to read.
        if (press.key == Key::none || press == shift(key('/')))
            continue;
        text += (text.empty() ? "" : ", ") + to_text(press);
    }
    return text;
}

std::span<const Gesture> all_gestures() {
    return kGestures;
}

}  // namespace tidemark::viz
