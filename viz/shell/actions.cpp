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

constexpr ActionInfo action(Action action, ActionGroup group, std::string_view title,
                            std::string_view about, KeyPress first, KeyPress second = {},
                            KeyPress third = {}) {
    return {action, group, title, about, {first, second, third}};
}

constexpr std::array kActions = {
    action(Action::zoom_in, navigate, "Zoom in", "as long as it is held", plain('w')),
    action(Action::zoom_out, navigate, "Zoom out", "as long as it is held", plain('s')),
    action(Action::pan_left, navigate, "Left", "as long as it is held", plain('a')),
    action(Action::pan_right, navigate, "Right", "as long as it is held", plain('d')),
    action(Action::fit, navigate, "Show all", "", plain(Key::home), plain('0')),
    action(Action::zoom_selected, navigate, "Zoom to the selection",
           "the measured range or the block's lifetime", plain('z')),
    action(Action::follow, navigate, "Follow the end", "it stays in view as the run grows",
           plain(Key::end), plain('l')),
    action(Action::undo, navigate, "Back", "to where you looked before", alt(Key::left), ctrl('z'),
           plain(Key::backspace)),
    action(Action::redo, navigate, "Forward", "", alt(Key::right), ctrl('y')),

    action(Action::peak, go, "The peak", "of reserved memory, where most is in use", plain('g')),
    action(Action::out_of_memory, go, "Out of memory", "where it happens first", plain('o')),
    action(Action::prompt, go, "A time, event, step...", "type 1.25s, #1234, step 12 or 0x7f00",
           shift(key('g')), ctrl('g')),
    action(Action::previous_event, go, "Previous event", "moves the cursor back", plain(Key::left),
           plain(',')),
    action(Action::next_event, go, "Next event", "moves the cursor on", plain(Key::right),
           plain('.')),
    action(Action::previous_event_far, go, "100 events back", "", shift(Key::left)),
    action(Action::next_event_far, go, "100 events on", "", shift(Key::right)),
    action(Action::next_mark, go, "Next finding", "findings, out of memory", plain('n')),
    action(Action::previous_mark, go, "Previous finding", "", plain('p')),
    action(Action::next_step, go, "Next step", "where the program's next step starts", plain('k')),
    action(Action::previous_step, go, "Previous step", "", plain('j')),
    action(Action::find, go, "Find...", "a tag, function, >=1MiB, stream=7", plain('f'), plain('/'),
           ctrl('f')),
    action(Action::next_hit, go, "Next hit", "the next block that was found", plain(Key::enter),
           plain(Key::f3)),
    action(Action::previous_hit, go, "Previous hit", "", shift(Key::enter), shift(Key::f3)),

    action(Action::view, show, "One view", "the first tab, the second, ...", plain('1')),
    action(Action::view_below, show, "A view below", "under the current one", shift(key('1'))),
    action(Action::split, show, "One or two views", "timeline over address map", plain('e')),
    action(Action::next_panel, show, "Next table", "", plain(Key::tab)),
    action(Action::previous_panel, show, "Previous table", "", shift(Key::tab)),
    action(Action::fold_side, show, "Side column", "show or hide", plain('i')),
    action(Action::fold_table, show, "Tables", "show or hide", plain('b')),
    action(Action::next_run, show, "Next run", "whose blocks and tables are shown", plain('r')),
    action(Action::next_gpu, show, "Next GPU", "of a recording with several", shift(key('r'))),
    action(Action::axis, show, "Time or events", "what the horizontal axis counts", plain('x')),
    action(Action::colours, show, "Next colouring", "by tag, stream, stack, size, age", plain('c')),
    action(Action::theme, show, "Dark or light", "", plain('t')),
    action(Action::clear, show, "Clear", "search, measure, selection, one at a time",
           plain(Key::escape)),
    action(Action::replay_suggested, show, "Replay the suggestion",
           "the setting of the first finding that has one, side by side", plain('u')),
    action(Action::replay_under, show, "Replay under...",
           "compare with another policy and its options", shift(key('u'))),

    action(Action::open_file, window, "Open...", "a recording; what is open stays", ctrl('o')),
    action(Action::pause, window, "Play or pause",
           "the cursor over the window; a live program's view", plain(Key::space)),
    action(Action::align, window, "Align by clock or start", "live programs next to each other",
           shift(key('x'))),
    action(Action::copy, window, "Copy as text", "what is under the mouse, else selected",
           ctrl('c')),
    action(Action::copy_table, window, "Copy the table", "under the mouse, as CSV", ctrl('e')),
    action(Action::save_table, window, "Save the table...", "under the mouse, all rows, as CSV",
           KeyPress{key('e'), true, true, false}),
    action(Action::copy_location, window, "Copy this location", "for --goto and the prompt",
           plain('y'), KeyPress{key('c'), true, true, false}),
    action(Action::save_image, window, "Save a picture", "PNG of this window", ctrl('s')),
    action(Action::key_sheet, window, "Keys", "this sheet", plain('?'), shift(key('/')),
           plain(Key::f1)),
    action(Action::quit, window, "Quit", "", ctrl('q')),
};

constexpr std::array kGestures = {
    Gesture{"wheel", "zoom about the pointer; Ctrl: finer, Shift: sideways"},
    Gesture{"drag", "move, with any button"},
    Gesture{"Shift-drag", "measure a range: its length, events, bytes"},
    Gesture{"click", "put the cursor, select a block"},
    Gesture{"double click", "zoom to a block's lifetime, or to a row's subject"},
    Gesture{"hover", "show details of what is under the mouse"},
    Gesture{"Ctrl-click a tab", "show that view below the current one"},
    Gesture{"V", "scale of the timeline: in view, or the capacity"},
    Gesture{"drag an edge", "resize a part of the window"},
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
