// ViewLocation: what a user looks at, as a line of text that can be sent to others, kept and passed
// to --goto: "t=1.2s..1.4s;cursor=1.25s;view=timeline;run=0;block=#81". Parsing and printing are
// inverse. And going there.
//
// Items, separated by ';', in any order, each at most once:
//   t=1.2s..1.4s    a stretch of time; t=1.25s a moment; units ns, us, ms, s, m, h
//   event=100..200  a stretch of events, by number; event=123 one of them
//   peak, oom       the peak of reserved, where most of it is in use; the first out of memory
//   start, end      the run's
//   cursor=1.25s    where the cursor is; cursor=#123 at an event
//   measure=1.2s..1.4s    the stretch between the two cursors; measure=#100..#200 of events
//   step=12         the start of the step of that number
//   owners=module   owners are grouped by tag, site, module, annotation, stream, pool, size
//   view=timeline   a view to open; "timeline+address-map" two
//   run=0           the run whose blocks are shown
//   block=#81       a block by its number; block=0x7f.. the block at that address at the cursor
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// A position with its axis.
struct AxisPosition {
    AxisUnit unit = AxisUnit::time;
    Position position = 0;

    friend bool operator==(const AxisPosition&, const AxisPosition&) = default;
};

struct ViewLocation {
    enum class Landmark : std::uint8_t { none, peak, out_of_memory, start, end };

    Landmark landmark = Landmark::none;
    AxisUnit unit = AxisUnit::time;  // of window
    std::optional<Window> window;
    std::optional<AxisPosition> moment;  // in the middle, with the cursor on it
    std::optional<std::uint64_t> step;   // its number: the cursor goes to its start
    std::optional<AxisPosition> cursor;
    std::optional<std::array<AxisPosition, 2>> measure;  // rising; both of one axis
    std::optional<BlockTrait> owners;
    std::string view;
    std::optional<std::size_t> run;
    std::optional<BlockIndex> block;
    std::optional<Address> address;

    friend bool operator==(const ViewLocation&, const ViewLocation&) = default;
};

// Errors (bad_option): what is wrong with an item, with the valid ones.
Result<ViewLocation> parse_location(std::string_view text);

// The line that parse_location reads as `location`.
std::string to_text(const ViewLocation& location);

// What a user types into a prompt: a location as above, or only "1.25s", "#123", "123", "0x7f..",
// "step 12", "peak". Errors: the same.
Result<ViewLocation> parse_target(std::string_view text);

// The current location.
ViewLocation location_of(const Camera& camera, const Selection& selection, std::string_view view);

// Moves there: camera, cursor, run and block; what `location` leaves open stays. The shell handles
// the view. Errors (not_found): no such run, moment, block; what it is about does not exist yet.
Result<void> go_to(const ViewLocation& location, const Session& session, Camera& camera,
                   Selection& selection);

// The same stretch on the other axis, as far as `history` knows it. O(log events).
Window converted(const History& history, AxisUnit from, AxisUnit to, const Window& window);
Position converted(const History& history, AxisUnit from, AxisUnit to, Position position);

// The same for cursor and measured stretch.
void convert(const History& history, AxisUnit from, AxisUnit to, Selection& selection);

}  // namespace tidemark::viz
