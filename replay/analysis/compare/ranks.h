// Ranks: recordings of one program on several devices or nodes, a file each. They should do the
// same. This shows where they begin to differ, which of them needs most and in which step, and
// which of them request the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/trace/event_position.h"
#include "traces/model/trace.h"

namespace tidemark {

// A trace that is compared with others. `name` is its name in tables; `trace` must outlive the
// call.
struct NamedTrace {
    std::string name;
    const Trace* trace = nullptr;
};

// A name with each number made a '#': files of one pattern are named as ranks are. Those of
// generators are not files, and have none: "".
std::string rank_pattern(std::string_view name);

// Whether several traces are named as ranks are: the same except for their numbers
// ("rank0/a.pickle", "rank1/a.pickle").
bool are_ranks(std::span<const NamedTrace> traces);

struct RankRow {
    std::string name;
    std::uint64_t allocations = 0;
    Bytes peak_requested = 0;
    Bytes peak_reserved = 0;  // recorded, or of a replay; 0 = not known
    // In which of its steps it requests most, 1 = the first; 0 = after the last one, or it has
    // none.
    std::uint64_t peak_step = 0;
};

// The step in which the ranks' peaks of requested bytes are farthest apart. Steps are ranges of the
// same name in all ranks (find_steps); the n-th of one is compared with the n-th of the others.
struct RankSpread {
    std::uint64_t steps = 0;  // that all ranks have
    std::uint64_t step = 0;   // 1 = the first
    std::size_t most = 0;     // rows
    std::size_t least = 0;
    Bytes most_bytes = 0;  // their peaks in that step
    Bytes least_bytes = 0;
    // What the former has more of at its peak there than the latter: a tag, a site, or a size class
    // if neither is recorded; "" = nothing.
    std::string more = {};
    Bytes most_of_it = 0;
    Bytes least_of_it = 0;
    // Of the last step that all have, which ends the trend: who requests most, and least.
    std::size_t last_most = 0;
    std::size_t last_least = 0;
    // From which step on the one requests more at its peak than the other, in every step; 0 = not
    // even in the last one.
    std::uint64_t since = 0;
    // By how much that difference grows with each step after grows_from(), if it does so steadily
    // up to the last one (by amounts within 10 % of their mean); 0 = it does not.
    Bytes growth_per_step = 0;

    // A first step often lacks the optimizer's state, and shows no growth.
    std::uint64_t grows_from() const { return std::max<std::uint64_t>(since, 2); }
};

// The first allocation at which a rank departs from the others (facts::RankMajority).
struct RankDivergence {
    std::size_t rank = 0;     // its index among the rows
    std::size_t other = 0;    // the first of the others
    std::size_t others = 0;   // how many they are
    std::uint64_t index = 0;  // how many allocations were the same
    std::uint64_t event = 0;  // in the trace of `rank`
    // In which step of `rank` that is, 1 = the first; 0 = after the last one, or it has none.
    std::uint64_t step = 0;
    Bytes bytes = 0;         // requested by `rank`
    Bytes usual_bytes = 0;   // by the others
    EventPosition position;  // of that event
};

struct RankReport {
    std::vector<RankRow> rows;
    std::optional<RankDivergence> divergence;  // the earliest of all ranks; empty: all are the
                                               // same, as far as they go
    std::optional<RankSpread> spread;          // empty: not all have steps of that name
    // Rows of ranks that request the same sizes in the same order up to their end, such as those of
    // one stage of a pipeline. In the order of their first rank, each rising. Of ranks that are the
    // same as far as they go, one that ends earlier is in another group.
    std::vector<std::vector<std::size_t>> groups;

    // The row with the largest peak: reserved if it is known of all, else requested. The first of
    // several.
    std::size_t largest() const;
};

// Compares the sequences of sizes that the ranks request, the preamble left out, and their steps.
// `rows` are given by the caller, one for each trace; allocations are counted, and the steps of the
// peaks found, here. Sequences are grouped by a hash of 64 bits. Errors: those of the cursors.
// O(events).
Result<RankReport> compare_ranks(std::span<const NamedTrace> traces, std::vector<RankRow> rows);

}  // namespace tidemark
