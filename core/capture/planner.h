// Planner: where each allocation of a captured graph goes, when all lifetimes are known beforehand.
//
// The problem is dynamic storage allocation, offline: place rectangles (time x bytes) so that those
// that meet in time do not meet in bytes, as low as possible. It is NP-hard, so several heuristics
// run and the lowest result counts; the largest sum of what lives at once is the floor of every
// plan and stands beside it. The heuristics place one allocation after another, in an order (by
// size, area, duration or time), each into the lowest or the tightest gap among those that it meets
// (first fit and best fit decreasing: Sekiyama et al., Profile-guided memory optimization for deep
// neural networks, 2018; Pisarchyk and Lee, Efficient memory management for deep neural net
// inference, 2020); then what stands highest is placed earlier and the rest again.
//
// Several streams in one graph: bytes pass from one allocation to the next only if the graph itself
// keeps them apart. On one stream that is so when the first was let go before the second was asked
// for. Between streams it needs a chain of edges from the first's stream, after it was let go, to
// the second's, before it was asked for. What is not known to be ordered is taken to run at once.
//
// Deterministic, and no state. O(n log n + met pairs) a heuristic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/allocator/allocator.h"
#include "core/base/result.h"

namespace tidemark {

// From position `at` on, what `to` does runs after all that `from` did before it. An event that is
// recorded on `from` and awaited by `to` while a graph is captured.
struct StreamEdge {
    std::uint32_t at = 0;
    StreamId from = StreamId::default_stream;
    StreamId to = StreamId::default_stream;
};

// May an allocation that outlives the capture take bytes that the graph let go before it?
enum class EscapeRule : std::uint8_t {
    apart,  // no: they are nobody else's, so they keep what the program puts there between launches
    after,  // yes, as in PyTorch's private pools: each launch spoils them before it fills them
};

struct PlanOptions {
    Bytes unit = 256;  // offsets and sizes are multiples of it; a power of two
    EscapeRule escapes = EscapeRule::apart;
    // Pairs to look at before no further heuristic is begun. One is always tried; if that alone
    // would take more, it is one of O(n log n) that shares nothing between streams.
    std::uint64_t most_pairs = 200'000'000;
};

struct Plan {
    std::vector<Bytes> offsets;    // of each allocation
    Bytes height = 0;              // the end of the highest
    Bytes lower_bound = 0;         // the most that lives at once: no plan is lower
    Bytes volume = 0;              // the sum of all sizes: what a bump arena would take
    std::string_view method = {};  // which heuristic found it: "size, first fit"
};

// Errors (bad_input): a unit or an alignment that is no power of two, an allocation that ends
// before it begins, or more than kLargestRequest bytes together. O(n).
Result<void> check_planned(std::span<const PlannedAllocation> allocations, Bytes unit);

// A plan for `allocations`, in the order of their requests. Errors: as check_planned.
Result<Plan> plan_offsets(std::span<const PlannedAllocation> allocations,
                          std::span<const StreamEdge> edges = {}, const PlanOptions& options = {});

}  // namespace tidemark
