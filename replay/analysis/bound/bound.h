// bound: the least memory that a run could have needed with an allocator that knew all of it: from
// the most bytes that are live at once (no packing is lower) to the best packing that was found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "replay/analysis/bound/packing.h"

namespace tidemark {

struct BoundQuestion {
    Bytes capacity = 0;  // is there a packing this low? 0 = the lowest that is found
    // Of improvement, after the heuristics; each is 16 attempts. None: by the number of intervals.
    std::optional<std::uint64_t> iterations = {};
    std::uint64_t seed = 1;
    unsigned threads = 0;  // 0 = one for each core
    // Called between iterations with the best so far; may be empty.
    std::function<void(std::uint64_t done, std::uint64_t total, const Packing& best)> progress = {};
    // Asked by any thread; once true, the best so far is the answer. May be empty.
    std::function<bool()> stop = {};
};

struct Bound {
    Bytes lower = 0;               // the most bytes that are live at once
    Packing packing;               // the best that was found, and checked
    std::uint64_t iterations = 0;  // made
    bool stopped = false;          // the question's `stop` ended it

    // Whether it fits `capacity`: none where no packing was found but nothing proves that there is
    // none.
    std::optional<bool> fits(Bytes capacity) const {
        if (packing.height <= capacity)
            return true;
        return lower > capacity ? std::optional(false) : std::nullopt;
    }
};

// Ends early where the packing is as low as the capacity or the lower bound. The same for every
// number of threads, if `stop` doesn't end it. Errors (bad_input): an interval that ends before it
// begins, or more than 2^62 bytes in total.
Result<Bound> find_bound(std::span<const Interval> intervals, const BoundQuestion& question);

}  // namespace tidemark
