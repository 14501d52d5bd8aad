// DryRun: a program's allocations while it does, uncaptured, what a graph will do later. It shows
// how large an arena must be, and is the planner's input.
//
// Positions count requests, frees and edges, in order. A value; not thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/capture/planner.h"

namespace tidemark {

class DryRun {
  public:
    // A request; its number. O(1) amortised, as all of these.
    std::uint32_t allocate(const Request& request) {
        allocations_.push_back({.size = request.size,
                                .begin = position_++,
                                .end = std::numeric_limits<std::uint32_t>::max(),
                                .stream = request.stream,
                                .escapes = true,
                                .alignment = request.alignment});
        return static_cast<std::uint32_t>(allocations_.size() - 1);
    }

    // Request `number` is freed. If `others` used it too it is kept apart: nobody knows when they
    // finish.
    void deallocate(std::uint32_t number, bool others) {
        allocations_[number].end = position_++;
        allocations_[number].escapes = others;
    }

    // From now on `to` runs after what `from` did so far.
    void edge(StreamId from, StreamId to) { edges_.push_back({position_++, from, to}); }

    // Blocks that are still live have escaped.
    const std::vector<PlannedAllocation>& allocations() const { return allocations_; }

    const std::vector<StreamEdge>& edges() const { return edges_; }

    // The size of a bump arena: the sum of all. O(allocations).
    Bytes volume() const;

    // A plan, whose height is the size of a planned arena.
    Result<Plan> plan(const PlanOptions& options = {}) const {
        return plan_offsets(allocations_, edges_, options);
    }

  private:
    std::vector<PlannedAllocation> allocations_;
    std::vector<StreamEdge> edges_;
    std::uint32_t position_ = 0;
};

}  // namespace tidemark
