// Session: what the viewer has open: runs of one or more traces, their progress, and the findings.
// And Selection: what the user points at. No view owns any of it; all of them read it.
//
// Used by the screen's thread only; a history that is still being built grows in the background.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/scenario/scenario.h"
#include "replay/tiers/tier_run.h"
#include "replay/timeline/block_classes.h"
#include "replay/timeline/history.h"
#include "viz/model/session/camera.h"
#include "viz/model/session/table_rows.h"

namespace tidemark::viz {

// The progress of something that takes time.
struct LoadState {
    enum class Phase : std::uint8_t { waiting, loading, ready, failed };

    Phase phase = Phase::waiting;
    double share = 0;      // done, 0 to 1
    std::string activity;  // "reading run.tmk", "replaying under buddy"
    Error error;           // if failed
};

// What a history shows by itself or `advise` found, for the list and for going there.
struct Finding {
    enum class Weight : std::uint8_t { note, warning, problem };

    Weight weight = Weight::note;
    std::string title;          // one line
    std::string detail;         // why, and what to do about it; with the command first
    EventIndex event = kNever;  // where to look; kNever: nowhere in particular
    BlockIndex block = kNoBlock;
    std::string policy = {};   // that it suggests: a replay under it shows what it would change
    bool has_command = false;  // what to write, in a shell or the program
};

// The state of a live program, for the status line; absent for a recording.
struct LiveState {
    bool alive = true;
    bool died = false;    // without closing its recording: it was killed, or crashed
    bool paused = false;  // the viewer has paused reading
    std::int64_t process = 0;
    Nanoseconds now = 0;  // on the time axis: while it is alive it holds what it held last
    double events_per_second = 0;
    std::uint64_t dropped = 0;        // events that the program could not hand over
    double ring_share = 0;            // of the fullest ring
    std::uint64_t unknown_frees = 0;  // of blocks whose allocation is not in the history
};

// Where a run's peak is (fullest_event), searched for only in what is new.
class PeakMemo {
  public:
    // 0 if there are no events.
    EventIndex of(const std::shared_ptr<const History>& history);

  private:
    std::shared_ptr<const History> history_;
    EventIndex events_ = 0;
    EventIndex peak_ = 0;
};

// One run: a trace under a policy.
struct ViewedRun {
    std::string label;           // "run.tmk, buddy": as in legends
    std::string trace_name;      // without folders
    std::string path;            // of the file that it is from; empty: it is from none
    std::string policy;          // with its options
    std::string assumed_policy;  // the policy that it is shown under, as its file names no
                                 // allocator
    std::size_t gpu = 0;         // that it is about, of `gpus`
    std::size_t gpus = 1;        // of its trace; 1 also until that is known
    LoadState state;
    std::shared_ptr<const History> history;  // null until there is one; may grow
    mutable PeakMemo peak;                   // of the history
    std::unique_ptr<Run> run;                // figures; null until complete, and for what is alive
    std::shared_ptr<const TierRun> tiers;    // over GPU, host and disk: then there's no history
    std::optional<LiveState> live;
    EventIndex preamble = 0;  // the first events that rebuild what was live before
    std::vector<std::string> warnings;
    std::vector<Finding> findings;
    std::string verdict;  // the headline of `advise`; empty: it hasn't run
    LoadState findings_state;
    std::uint64_t unadvised_events = 0;  // that `advise` has not looked at, but can
    std::string advised_with;  // the run of the same trace that has `advise`'s; empty: this one
};

struct Session {
    std::vector<ViewedRun> runs;

    // The run whose blocks and tables are shown; null if none has a history or tiers yet.
    const ViewedRun* shown(std::size_t run) const {
        return run < runs.size() ? &runs[run] : nullptr;
    }
};

// Blocks of one tag, call site (trait stack), module or annotation, with exactly this name; without
// one if the name is empty.
struct OwnerName {
    BlockTrait trait = BlockTrait::tag;
    std::string name;

    friend bool operator==(const OwnerName&, const OwnerName&) = default;
};

// Which blocks and events tables and maps show. Empty = all.
struct Filter {
    std::string text;  // in the tag or any frame of the stack, without case
    std::optional<OwnerName> owner = {};
    Bytes least = 0;
    Bytes most = ~Bytes{0};
    std::optional<StreamId> stream;
    std::optional<std::uint16_t> device;
    std::optional<PoolId> pool;
    std::optional<Address> address = {};  // that the block covers
    bool hides_freed = false;

    friend bool operator==(const Filter&, const Filter&) = default;
};

// What address maps and lists are coloured by.
enum class ColourBy : std::uint8_t { tag, stream, stack, size, age };

// How call stacks are shown where they are added up.
struct StackLook {
    bool folds = true;                        // leaves out frames
    std::string folded = "torch python c++";  // these: see viz/model/blocks/frame_fold.h
    bool inverted = false;
};

struct Selection {
    std::size_t run = 0;                  // of Session::runs
    std::optional<Position> cursor;       // put by a click; all views show the state there
    std::optional<Position> hover;        // under the mouse, in whichever view: see point_at
    std::optional<BlockIndex> block;      // of `run`
    std::optional<BlockIndex> hot_block;  // under the mouse, for one frame
    std::vector<BlockIndex> used;         // by the launch that was clicked, of `run`
    std::optional<BlockIndex> reveal;     // if selected: maps bring it into sight, and reset it
    std::optional<Window> measure;        // between two cursors: shift-drag
    std::optional<BlockTrait> owners;     // what owners are grouped by; none: an informative trait
    StackLook stacks;
    Filter filter;
    ColourBy colour_by = ColourBy::tag;
    std::optional<Position> grabbed;  // by the mouse: dragging keeps it under the pointer
    std::string described;            // what is under the mouse, as text, for Ctrl-C; for one frame
    bool shows_measured = false;      // its figures are shown somewhere in this frame
    std::string detail;               // of what the inspector doesn't know: the same, as text
    bool wants_table = false;         // the table under the mouse is requested: it resets this
    std::string table;                // and hands itself over as comma-separated values
    std::uint64_t table_rows = 0;     // that it has
    std::string wanted_rows;          // the view whose table is requested with all its rows,
                                      // "mouse": the one under it; the view resets this
    std::shared_ptr<TableRows> rows;  // and returns them
    std::string rows_name;            // of the table: "blocks"
    std::string_view drawn_view;      // whose turn it is
    std::size_t finding = 0;          // of the run's, shown in full
    std::string wanted_view;          // a view to open, by name: the shell does and empties it
    bool wants_advice = false;        // `advise` is to run: the shell starts it and resets this
    bool plays = false;               // the cursor moves by itself
    std::string wanted_policy;        // the shown run's trace is to be replayed under it: the same
    bool wants_policies = false;      // one is to be chosen for that: the same
    bool wants_file = false;          // one is to be chosen and opened: the same
    std::optional<std::size_t> compared_first;   // the runs picked as A and B; none: see
    std::optional<std::size_t> compared_second;  // comparison_order
    bool pointed = false;                        // this frame's views have said where the mouse is

    // The view under the mouse reports it at `position`. All views know it until it leaves.
    void point_at(Position position) {
        hover = position;
        pointed = true;
    }

    // What a step of navigation is about: Camera::settle.
    UserState user_state() const { return {cursor, run, block}; }

    // The position that figures are given for: the mouse's, else the cursor's.
    std::optional<Position> looked_at() const { return hover ? hover : cursor; }
};

}  // namespace tidemark::viz
