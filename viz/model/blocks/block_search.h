// BlockSearch: which blocks a filter lets through, found in the background, with the way from one
// hit to the next. What is found so far can be used while the rest is searched.
//
// The screen's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/blocks/ranked_bits.h"
#include "viz/model/session/job.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

// A hit, and how a step has reached it.
struct Hit {
    BlockIndex block = kNoBlock;
    bool wrapped = false;  // past the last hit, round to the other end
};

class BlockSearch {
  public:
    // Starts again if the filter or the history is another one, or the history has grown much: the
    // old answer stays until the new one is complete. No history: nothing is known. Each frame;
    // O(1).
    void update(const std::shared_ptr<const History>& history, const Filter& filter);

    bool running() const { return job_.running(); }

    // What is known so far, numbered in order of allocation; null if the filter hides nothing, or
    // there is no history.
    const RankedBits* hits() const { return hits_.get(); }

    // Another number whenever hits() is about something else.
    std::uint64_t revision() const { return revision_; }

    // How much of the blocks has been looked at: 0 to 1.
    double share() const;

    // The first hit that isn't before `from` in order of allocation; if not `forward`, the last one
    // before it. After the last one comes the first, and vice versa. None if there is no hit yet.
    // O(log blocks).
    std::optional<Hit> next(BlockIndex from, bool forward) const;

    // For a strip of `columns` columns over [begin, end): how many hits are allocated in each.
    // O(columns * log blocks).
    std::vector<std::uint32_t> ticks(AxisUnit unit, Position begin, Position end,
                                     std::size_t columns) const;

    // "1,234 of 50,000 blocks, 2.5 %"; "hit 14 of 1,234" if `selected` is one; "searching 40 %"
    // while it runs; "no match". Empty if no search is set.
    std::string text(std::optional<BlockIndex> selected) const;

    // Waits for the answer: for stills.
    void finish();

  private:
    void begin(bool grows);
    void adopt();  // the answer is complete

    std::shared_ptr<const History> history_;
    Filter filter_;
    std::shared_ptr<RankedBits> hits_;
    std::shared_ptr<RankedBits> next_hits_;  // of what the history has grown to
    std::uint64_t revision_ = 0;
    Job<bool> job_;
};

}  // namespace tidemark::viz
