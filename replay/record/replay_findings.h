// ReplayFindings: what a replay of a record has found so far: decisions, differences, the first of
// them with what is around it, and the facts that the record leaves out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replay/record/explanation.h"
#include "replay/record/verify.h"

namespace tidemark {

struct ReplayFindings {
    std::uint64_t decisions = 0;
    std::uint64_t mismatches = 0;
    std::uint64_t final_blocks = 0;
    Usage peak;  // each counter's own maximum
    std::vector<InferredFact> facts;
    std::optional<Mismatch> first_mismatch;
    std::vector<Adopted> adopted;  // by rising step
    bool switched = false;         // as last noted among the facts

    // `attempt`, whose model is `allocator`'s now, is taken for what happened. O(pending entries).
    void add(const Situation& at, const Attempt& attempt, const Allocator& allocator);

    void keep_peak(const Usage& now);

    // Compares what the pool of the device holds, `held`, with the entry that the cursor is at.
    // Returns how many differ.
    std::uint64_t compare_held(const RecordCursor& cursor, Bytes held, const Allocator& allocator);

    // Compares the state at the end with the snapshot's own list of blocks. Returns how many
    // differ. O(blocks log blocks).
    std::uint64_t compare_end(const DeviceRecord& record, const Allocator& allocator);

  private:
    void note_facts(const Situation& at, const Explanation& how);
    void note_releases(const Situation& at, const Explanation& how);
};

// What verify finds on one device.
struct DeviceFindings {
    ReplayFindings found;
    AllocatorStats stats;
    PoolChoices chosen;
    Hypotheses hypotheses = {};  // under which it was found
    bool assumes_pools = false;  // assume_pools() had been called
};

}  // namespace tidemark
