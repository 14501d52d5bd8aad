// Merging: the records of several rings, put into the order in which they happened.
//
// Each sequence number exists once. The record after the last one may be missing for a moment: a
// thread has taken a number and not yet written its record. Merging then stops there and continues
// later. A gap is skipped and counted only if the program is dead, or when the record is given up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/live/clock.h"
#include "traces/live/wire.h"

namespace tidemark::live {

// Slots [begin, end) of a ring, counted since its start.
struct RingSpan {
    const Record* slots = nullptr;
    std::uint64_t mask = 0;  // slots in the ring, minus one
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    const Record& front() const { return slots[begin & mask]; }

    bool empty() const { return begin == end; }
};

class Merger {
  public:
    // The next number that is expected.
    std::uint64_t next() const { return next_; }

    void begin_at(std::uint64_t sequence) { next_ = sequence; }

    // No record gets a time before this.
    void not_before(Nanoseconds time) { latest_ = static_cast<std::uint64_t>(time); }

    // The time of the last record.
    std::uint64_t latest() const { return latest_; }

    // Records that are missing: skipped gaps.
    std::uint64_t missing() const { return missing_; }

    // Appends records with their payloads to `out`, with times converted by `scale`, up to a gap or
    // until `out` has `most` slots or more; advances the starts of the spans. Records older than
    // next() are left out, except names: they were counted as missing. Damaged ones (a payload that
    // goes beyond the end) end their ring. Returns whether it stopped at a gap. O(records * rings)
    // in the worst case.
    bool merge(std::span<RingSpan> rings, const TickScale& scale, std::size_t most,
               std::vector<Record>& out);

    // Continues behind a gap: at the oldest record there is.
    void skip_gap(std::span<const RingSpan> rings);

  private:
    void take_run(RingSpan& ring, std::uint64_t until, const TickScale& scale, std::size_t most,
                  std::vector<Record>& out);
    std::uint64_t take(RingSpan& ring, const TickScale& scale, std::vector<Record>& out);

    std::uint64_t next_ = 0;
    std::uint64_t missing_ = 0;
    std::uint64_t latest_ = 0;  // time of the last record: processors' clocks differ a little
};

}  // namespace tidemark::live
