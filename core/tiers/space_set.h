// SpaceSet: the memory spaces of a machine in a real program, and the one queue of those who wait
// for any of them.
//
// Built once; spaces never come or go. Whatever frees capacity in a space wakes whoever of the
// queue can run, wherever he waits. Requests that choose among spaces and wait are made by
// request.h.
//
// Thread-safety: everything but construction and destruction may be called from any thread. Every
// reservation ends before the set does; threads that still wait then are sent home, and waited for.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/tiers/machine.h"
#include "core/tiers/memory_space.h"
#include "core/tiers/wait_graph.h"
#include "core/tiers/wait_queue.h"

namespace tidemark {

class SpaceSet {
  public:
    // The spaces of `machine`. `options.detector` may be left out: the set's own graph is taken
    // then, unless `detect_deadlocks` is false. Errors (bad_input): not a valid machine, no spaces,
    // more than kMaskedSpaces.
    static Result<std::unique_ptr<SpaceSet>> make(const MachineSpec& machine,
                                                  WaitOptions options = {},
                                                  bool detect_deadlocks = true);

    SpaceSet(const SpaceSet&) = delete;
    SpaceSet& operator=(const SpaceSet&) = delete;
    ~SpaceSet();

    const MachineSpec& machine() const { return machine_; }

    // By position in MachineSpec::spaces, the number of a space's bit in a SpaceMask.
    std::size_t size() const { return spaces_.size(); }

    MemorySpace& at(std::size_t position) const { return *spaces_[position]; }

    // Nothing, or null, if the machine has no such space. O(spaces).
    std::optional<std::size_t> position(SpaceId id) const;
    MemorySpace* find(SpaceId id) const;

    // Those of one tier, in order of their index. O(spaces).
    std::vector<MemorySpace*> of_tier(Tier tier) const;

    // Sums over all spaces, over one tier. Each space is read at its own moment, so the sums are
    // exact only while nothing changes. `peak_used` is the sum of the peaks. O(spaces).
    SpaceCounters counters() const;
    SpaceCounters counters(Tier tier) const;
    Bytes available() const;
    Bytes available(Tier tier) const;

    WaitQueue& queue() { return queue_; }

    WaitGraph& graph() { return graph_; }

    // Ends every wait, those to come too. What can be had without waiting is refused as well.
    void shut_down() { queue_.shut_down(); }

  private:
    // Tells the queue what a space has freed.
    class Bell;

    SpaceSet(const MachineSpec& machine, WaitOptions options, bool detect_deadlocks);

    std::vector<const MemorySpace*> views() const;

    const MachineSpec machine_;
    const std::vector<std::unique_ptr<MemorySpace>> spaces_;
    WaitGraph graph_;
    WaitQueue queue_;  // after what its rounds use: it goes first
    std::vector<std::unique_ptr<Bell>> bells_;
};

}  // namespace tidemark
