// LiveRanges: which recorded block is at an address that a program uses: within an allocation, or
// within a mapping of memory that has its own address (physical_memory.h). Follows the events that
// are recorded.
//
// Thread-safe. O(log live) under a shared lock; a thread that looks for the same address again, and
// nothing has begun or ended since, has the answer of the last time in a few ns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <utility>

#include "traces/live/publisher.h"

namespace tidemark::inject {

// Handles of arrays as addresses, where nothing else has any.
constexpr std::uint64_t kArrayBase = std::uint64_t{1} << 61U;

// Part of a recorded block.
struct UsedBlock {
    std::uint64_t address = 0;  // of the block; 0: there is none
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of what was looked for
    std::uint8_t device = 0;
};

class LiveRanges {
    struct Found;

  public:
    // Takes allocations, mappings and their ends; anything else changes nothing.
    void follow(const live::ReportedEvent& event);

    // Looks for the addresses of one launch, on one thread.
    class Search {
      public:
        explicit Search(const LiveRanges& ranges);

        // The block at an address that a GPU may have. None for other numbers. Valid until the next
        // call.
        const UsedBlock& find(std::uint64_t address);

        // The block of an array, by its handle.
        UsedBlock find_array(std::uint64_t handle) const {
            return ranges_.look_up(kArrayBase + handle);
        }

      private:
        const LiveRanges& ranges_;
        const std::uint64_t changes_;
        const std::uint64_t lowest_;
        const std::uint64_t highest_;
        const UsedBlock nothing_;
        Found* const found_;  // the thread's
    };

  private:
    static constexpr unsigned kFoundBits = 9;

    // What a thread found, by a hash of the address.
    struct Found {
        std::uint64_t address = 0;
        std::uint64_t changes = 0;  // when it was looked for; 0: never
        UsedBlock block;
    };

    struct Range {
        std::uint64_t size = 0;
        std::uint64_t home = 0;  // where a mapping's bytes are; 0: here
        std::uint8_t device = 0;
    };

    UsedBlock look_up(std::uint64_t address) const;
    const std::pair<const std::uint64_t, Range>* range_at(std::uint64_t address) const;

    static thread_local std::array<Found, 1U << kFoundBits> found_last_;

    mutable std::shared_mutex mutex_;
    std::map<std::uint64_t, Range> ranges_;
    std::atomic<std::uint64_t> changes_ = 1;
    // Of what a GPU may have: never narrowed.
    std::atomic<std::uint64_t> lowest_ = kArrayBase;
    std::atomic<std::uint64_t> highest_ = 0;
};

inline const UsedBlock& LiveRanges::Search::find(std::uint64_t address) {
    if (address < lowest_ || address >= highest_)
        return nothing_;
    Found& found = found_[(address >> 3U) * 0x9e3779b97f4a7c15U >> (64U - kFoundBits)];
    if (found.address != address || found.changes != changes_) [[unlikely]]
        found = {address, changes_, ranges_.look_up(address)};
    return found.block;
}

}  // namespace tidemark::inject
