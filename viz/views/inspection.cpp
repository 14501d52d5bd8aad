// Shared by the tables and the inspector.
#include "viz/views/inspection.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/text.h"
#include "viz/draw/table.h"
#include "viz/model/blocks/block_details.h"
#include "viz/model/navigation/navigation.h"
#include "viz/model/session/moment.h"

namespace tidemark::viz {
namespace {

bool has_times(const History& history) {
    return history.end(AxisUnit::time) > 1;
}

}  // namespace

std::shared_ptr<const History> shown_history(const Frame& frame) {
    const ViewedRun* const run = frame.session.shown(frame.selection.run);
    return run == nullptr ? nullptr : run->history;
}

Shown follow_shown(const Frame& frame, std::shared_ptr<const History>& history,
                   std::unique_ptr<SiteNames>& names) {
    const std::shared_ptr<const History> shown = shown_history(frame);
    if (shown == nullptr)
        return Shown::nothing;
    if (shown == history)
        return Shown::the_same;
    history = shown;
    names = std::make_unique<SiteNames>(*shown);
    return Shown::another;
}

void draw_no_history(Frame& frame) {
    const ViewedRun* const run = frame.session.shown(frame.selection.run);
    std::string text = "Nothing is open. Drop a file here, or start `tidemark view FILE`.";
    if (run != nullptr && run->tiers != nullptr)
        text =
            "This run uses several tiers of memory: its blocks have no fixed addresses. "
            "The timeline shows its lanes; open it without tiers to look at single blocks.";
    else if (run != nullptr && run->state.phase == LoadState::Phase::failed)
        text = fmt::format("{} could not be opened: {}. {}", run->label, run->state.error.what,
                           run->state.error.hint);
    else if (run != nullptr && run->state.phase != LoadState::Phase::ready)
        text = run->state.activity.empty() ? "Loading\u2026" : run->state.activity + "\u2026";
    frame.canvas.fill(frame.area, frame.canvas.theme().panel);
    draw_notice(frame.canvas, frame.area, text);
}

std::string when_text(const History& history, const Frame& frame) {
    return frame.selection.measure ? "between the two cursors" : cursor_text(history, frame);
}

std::string cursor_text(const History& history, const Frame& frame) {
    const std::optional<Instant> instant =
        instant_of(frame.run(), frame.camera.unit(), frame.selection.cursor);
    if (!instant)
        return "before the first event";
    const std::string_view where = instant->at_peak     ? "at the peak"
                                   : instant->has_ended ? "at the run's end"
                                                        : "at the cursor";
    return fmt::format("{}, {}", where, event_time_text(history, instant->event));
}

void point_at_block(Frame& frame, const History& history, SiteNames& names, BlockIndex block) {
    frame.selection.hot_block = block;
    const Block about = history.block(block);
    frame.selection.described = fmt::format(
        "{}\t{:#x}\tallocated at event {}\t{}\t{}", format_bytes(about.size),
        to_integer(about.address), format_count(about.born),
        about.freed == kNever ? "not freed" : "freed at event " + format_count(about.freed),
        names.name(history.site(about.site)));
}

void add_life(HoverCard& card, const History& history, const Block& block, Colour colour) {
    card.row(colour, "size",
             block.size == block.requested
                 ? format_bytes(block.size)
                 : fmt::format("{} for {} requested", format_bytes(block.size),
                               format_bytes(block.requested)));
    if (block.freed == kNever)
        card.row(0, "freed", "never");
    else
        card.row(0, "lifetime", stretch_text(history, block.born, block.freed));
    if (block.freed != block.reused)
        card.row(0, "pending free",
                 block.reused == kNever ? "to the end"
                                        : stretch_text(history, block.freed, block.reused));
}

void go_to_event(Frame& frame, const History& history, EventIndex event) {
    if (event >= history.counts().events)
        return;
    frame.camera.settle(frame.selection.user_state());
    put_cursor(frame.camera, frame.selection, history.position(frame.camera.unit(), event));
    frame.camera.settle(frame.selection.user_state());
}

void show_life(Frame& frame, const History& history, BlockIndex block) {
    const Block about = history.block(block);
    frame.selection.block = block;
    const auto last = static_cast<EventIndex>(history.counts().events - 1);
    const AxisUnit unit = frame.camera.unit();
    const Position begin = history.position(unit, about.born);
    const Position end =
        std::max(history.position(unit, std::min(about.reused, last)), begin + Camera::kShortest);
    const Position room = (end - begin) / 8 + 1;
    frame.camera.show({begin - room, end + room});
}

std::string event_time_text(const History& history, EventIndex event) {
    return has_times(history) ? format_duration(history.time(event))
                              : "event " + format_count(event);
}

std::string age_text(const History& history, EventIndex born, EventIndex event) {
    if (event < born)
        return {};
    if (has_times(history))
        return format_duration(history.time(event) - history.time(born));
    return format_counted(event - born, "event");
}

}  // namespace tidemark::viz
