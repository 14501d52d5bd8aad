// StackTotals: bytes and blocks summed over call stacks, as a tree from the outermost frame inwards
// and as a list by site; and drawn as an icicle whose cost is bounded by pixels.
//
// Pure; sums are for jobs, layouts for the screen's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/moment.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

enum class TotalsOf : std::uint8_t {
    live,       // what is live at one moment
    allocated,  // what is allocated in a stretch
    growth,     // what is live at the end of a stretch and not at its start
};

struct TotalsQuestion {
    TotalsOf of = TotalsOf::live;
    EventIndex event = 0;  // of `live`
    EventSpan span = {};   // of the others
    Filter filter = {};
    std::string folded = {};  // frames that are left out: rules of FrameFold
    bool inverted = false;    // the innermost frame is next to the root

    friend bool operator==(const TotalsQuestion&, const TotalsQuestion&) = default;
};

// A frame below all frames that called it; in an inverted tree, below those that it called.
struct TotalsNode {
    tidemark::Frame frame;
    std::uint32_t parent = 0;       // the root is its own
    std::uint32_t first_child = 0;  // of the children: side by side, the largest first
    std::uint32_t children = 0;
    std::uint32_t depth = 0;
    Bytes bytes = 0;  // of all stacks through here
    Bytes own = 0;    // of those that end here
    std::uint64_t blocks = 0;
    std::uint32_t stack = 0;  // the one of most bytes that ends at or below here
};

// One call site with everything that is attributed to it.
struct SiteTotals {
    std::string name;
    Bytes bytes = 0;
    std::uint64_t blocks = 0;
    std::uint32_t stack = 0;  // of most bytes there
};

struct StackTotals {
    TotalsQuestion question;
    std::vector<TotalsNode> nodes;       // [0] is the root: everything
    std::vector<SiteTotals> call_sites;  // the largest first
    Bytes unknown = 0;                   // of the root's bytes, without a stack
    Bytes shrunk = 0;  // of `growth`: by how much less is live at the end, over the stacks that
                       // shrank; it is not in the tree
    std::uint32_t depth = 0;

    Bytes bytes() const { return nodes.empty() ? 0 : nodes[0].bytes; }

    std::uint64_t blocks() const { return nodes.empty() ? 0 : nodes[0].blocks; }
};

// O(blocks in question + frames of their stacks). Cancelled: empty.
StackTotals stack_totals(const History& history, const TotalsQuestion& question,
                         const Cancelled& cancelled);

// A bar of an icicle: shares of its width, rows from the top.
struct IcicleBar {
    double left = 0;
    double right = 0;
    std::uint32_t row = 0;
    std::uint32_t node = 0;    // of StackTotals::nodes
    std::uint32_t merged = 0;  // > 0: that many siblings from `node` on, each too narrow to be
                               // drawn alone
    Bytes bytes = 0;
};

// The tree from `top` on, which spans the whole width of row 0: the rows [first_row, first_row +
// rows). Bars narrower than `narrowest` (a share of the width, > 0) are merged with the siblings
// behind them. At most 2 / narrowest bars a row. O(bars of all rows down to the last).
std::vector<IcicleBar> icicle(const StackTotals& totals, std::uint32_t top, double narrowest,
                              std::uint32_t first_row, std::uint32_t rows);

// The frame from which on stacks differ: the interesting part is below it. O(depth).
std::uint32_t where_stacks_part(const StackTotals& totals);

// The frames from the root to `node`, both included. O(depth).
std::vector<std::uint32_t> path_to(const StackTotals& totals, std::uint32_t node);

// Frames of a stack beyond this many from the outermost are attributed to the last of these.
constexpr std::uint32_t kDeepestStack = 1000;

}  // namespace tidemark::viz
