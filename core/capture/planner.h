// Planner: where each allocation of a captured graph goes, when all lifetimes are known in advance.
//
// The problem is offline dynamic storage allocation: place rectangles (time x bytes) so that those
// that meet in time do not meet in bytes, as low as possible. It is NP-hard, so several heuristics
// run and the lowest result counts. The largest sum of sizes that are live at once is a lower bound
// of every plan and is reported with it. The heuristics place one allocation after another, in an
// order (by size, area, duration or time), each into the lowest or the tightest gap among those
// that it meets (first fit and best fit decreasing: Sekiyama et al., Profile-guided memory
// optimization for deep neural networks, 2018; Pisarchyk and Lee, Efficient memory management for
// deep neural net inference, 2020). Then the highest one is placed earlier, and the rest again.
//
// Several streams in one graph: bytes pass from one allocation to the next only if the graph itself
// keeps them apart. On one stream that is the case if the first was freed before the second was
// requested. Between streams it needs a chain of edges from the first's stream, after the free, to
// the second's, before the request. Whatever is not known to be ordered is assumed to run at the
// same time.
//
// Deterministic, and without state. O(n log n + met pairs) per heuristic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/result.h"

namespace tidemark {

// From position `at` on, what `to` does runs after everything that `from` did before it. An event
// that `from` records and `to` waits for while a graph is captured.
struct StreamEdge {
    std::uint32_t at = 0;
    StreamId from = StreamId::default_stream;
    StreamId to = StreamId::default_stream;
};

// May an allocation that outlives the capture take bytes that the graph freed before it?
enum class EscapeRule : std::uint8_t {
    // no: it has bytes of its own, so they keep what the program puts there between launches
    apart,
    after,  // yes, as in PyTorch's private pools: each launch overwrites them before it fills them
};

struct PlanOptions {
    Bytes unit = 256;  // offsets and sizes are multiples of it; a power of two
    EscapeRule escapes = EscapeRule::apart;
    // How many pairs to look at before no further heuristic starts. One is always tried; if that
    // alone would take more, it is one of O(n log n) that shares nothing between streams.
    std::uint64_t most_pairs = 200'000'000;
};

struct Plan {
    std::vector<Bytes> offsets;    // of each allocation
    Bytes height = 0;              // the end of the highest
    Bytes lower_bound = 0;         // the most that is live at once: no plan is lower
    Bytes volume = 0;              // the sum of all sizes: the size of a bump arena
    std::string_view method = {};  // which heuristic found it: "size, first fit"
};

// Errors (bad_input): a unit or an alignment that is not a power of two, an allocation that ends
// before it begins, or more than kLargestRequest bytes together. O(n).
Result<void> check_planned(std::span<const PlannedAllocation> allocations, Bytes unit);

// A plan for `allocations`, in the order of their requests. Errors: as check_planned.
Result<Plan> plan_offsets(std::span<const PlannedAllocation> allocations,
                          std::span<const StreamEdge> edges = {}, const PlanOptions& options = {});

}  // namespace tidemark
