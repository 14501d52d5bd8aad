// BlockDetails: everything that a history knows about one block, as text: its size, its lifetime,
// who requested it, which blocks had its bytes before and after, and which blocks are next to it.
//
// Pure; for jobs: O(frames + segments + live blocks), and more where neighbours in time are
// distant.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

struct BlockDetails {
    BlockIndex block = kNoBlock;
    EventIndex at = 0;  // the moment for which its neighbours are given
    std::string title;  // "512 MiB at 0x7f3a80000000"
    // A label and its value, in the order of a screen; labels may be empty where a line
    // goes on.
    std::vector<std::pair<std::string, std::string>> facts;
    std::vector<std::string> frames;  // innermost first; empty = not recorded
    // Others that one may go to; kNoBlock = none.
    BlockIndex before = kNoBlock;  // had some of its bytes before
    BlockIndex after = kNoBlock;   // and after it
    BlockIndex left = kNoBlock;    // the nearest at lower addresses, in the same piece of memory
    BlockIndex right = kNoBlock;
};

// Neighbours in space are those after event `at` if the block has its bytes then, else after its
// birth.
BlockDetails block_details(const History& history, BlockIndex block, EventIndex at,
                           const Cancelled& cancelled);

// The details as lines of text, for the clipboard.
std::string to_text(const BlockDetails& details);

// "1.20 s, 4,211 events": the length of (from, to]; a run without times has only events.
std::string stretch_text(const History& history, EventIndex from, EventIndex to);

// "event 4,211, 1.20 s".
std::string moment_text(const History& history, EventIndex event);

}  // namespace tidemark::viz
