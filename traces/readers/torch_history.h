// A device's trace seen from its end: which free ends which allocation, what was live before the
// first entry, and to which pool each segment belonged.
//
// A trace is the last part of what happened (a ring buffer), and the state at the dump is known. So
// the pass goes backward and undoes what each entry did. What remains is the state at the start.
// O(entries); memory O(live).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "traces/readers/torch_contents.h"

namespace tidemark::torch {

// Entry::link of an allocation that is live at the dump: this bit and the block's index in
// Contents::blocks. Otherwise it is the index of the entry that frees it, or kNone.
constexpr std::uint32_t kFinalLink = 0x80000000U;

// A range of memory that was reserved from the device; the key of Runs is its address.
struct Run {
    std::uint64_t size = 0;
    std::uint32_t stream = 0;
    std::uint32_t pool = 0;
    bool expandable = false;
    bool small = false;
    bool pool_known = false;
    bool kind_known = false;  // `small` is
    bool guessed = false;     // known from a later state only; it may not have existed yet
};

using Runs = std::map<std::uint64_t, Run>;

// The run that holds `address`, or end.
Runs::const_iterator run_at(const Runs& runs, std::uint64_t address);

// A block that was live before the first entry.
struct EarlyBlock {
    std::uint64_t address = 0;
    std::uint64_t requested = 0;
    std::uint64_t size = 0;  // 0: the trace frees the block without its size
    std::uint32_t stream = 0;
    std::uint32_t frames = kNone;
    std::uint32_t link = kNone;  // as Entry::link
    bool pending = false;        // freed before the first entry
};

struct History {
    std::span<Entry> entries;
    Runs early_runs;
    std::vector<EarlyBlock> early_blocks;  // by address; torch_preamble.h removes impossible ones
    std::size_t misfits = 0;               // segment entries that contradict the state at the dump
    std::size_t malformed = 0;             // entries without what their action needs
    std::size_t first_malformed = 0;
    bool completes_frees = false;  // free_completed entries are recorded
    std::size_t unallocated =
        0;  // blocks live at the dump that the trace frees and never allocates
};

// True for an entry that has everything that its action needs.
bool is_whole(const Entry& entry);

// True if entries[i] and entries[i + 1] are a free that completed immediately.
inline bool is_free_pair(std::span<const Entry> entries, std::size_t i) {
    return i + 1 < entries.size() && entries[i].action() == Action::free_requested &&
           entries[i + 1].action() == Action::free_completed &&
           entries[i].address == entries[i + 1].address;
}

// Walks through contents.traces[device] and sets link, flags and pool of its entries. `cut_off`:
// the end of the trace is missing, so the state at the dump does not follow its last entry.
History walk_back(Records& records, const Contents& contents, std::size_t device, bool cut_off);

}  // namespace tidemark::torch
