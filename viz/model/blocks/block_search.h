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

// A hit, and how a step has come to it.
struct Hit {
    BlockIndex block = kNoBlock;
    bool wrapped = false;  // round the end of all hits, to their other end
};

class BlockSearch {
  public:
    // Begins anew if the filter or the history is another one, or the history has grown much: then
    // what was known stays until the new answer is whole. No history: nothing is known. Each frame;
    // O(1).
    void update(const std::shared_ptr<const History>& history, const Filter& filter);

    bool running() const { return job_.running(); }

    // What is known by now, numbered in the order of birth; null if the filter hides nothing, or
    // there is no history.
    const RankedBits* hits() const { return hits_.get(); }

    // Another number whenever hits() is about something else.
    std::uint64_t revision() const { return revision_; }

    // How much of the blocks has been looked at: 0 to 1.
    double share() const;

    // The first hit that isn't before `from` in the order of birth; if not `forward`, the last one
    // before it. Behind the last one comes the first, and the other way round. None if there is no
    // hit yet. O(log blocks).
    std::optional<Hit> next(BlockIndex from, bool forward) const;

    // For a strip of `columns` columns over [begin, end): how many hits are born in each. O(columns
    // * log blocks).
    std::vector<std::uint32_t> ticks(AxisUnit unit, Position begin, Position end,
                                     std::size_t columns) const;

    // "1,234 of 50,000 blocks, 2.5 %"; "hit 14 of 1,234" if `selected` is one; "searching 40 %"
    // while it runs; "no block has it". Empty where nothing is searched for.
    std::string text(std::optional<BlockIndex> selected) const;

    // Waits for the answer: for stills.
    void finish();

  private:
    void begin(bool grows);
    void adopt();  // the answer is whole

    std::shared_ptr<const History> history_;
    Filter filter_;
    std::shared_ptr<RankedBits> hits_;
    std::shared_ptr<RankedBits> next_hits_;  // of what the history has grown to
    std::uint64_t revision_ = 0;
    Job<bool> job_;
};

}  // namespace tidemark::viz
