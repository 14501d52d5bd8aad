// RecordedCard: how much of its card a recorded allocator could have, as its out-of-memory events
// show: what it had reserved and what the device had free then. Others had the rest: the context,
// libraries, other processes. So a replay that gets more gets memory that did not exist.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "replay/record/device_record.h"

namespace tidemark {

struct RecordedCard {
    // Reserved and free together: the least of all events that say it, but never less than was
    // reserved at any time. 0: none says it.
    Bytes room = 0;
    // The maximum: where it is more, others' share of the card changed.
    Bytes most_room = 0;
    // At the first event of the least.
    std::uint64_t event = 0;
    Bytes reserved = 0;
    Bytes free = 0;
    Bytes total = 0;  // of the card, if recorded; 0 = unknown

    friend bool operator==(const RecordedCard&, const RecordedCard&) = default;
};

// `total`: of the device, 0 = unknown. O(steps).
RecordedCard recorded_card(const DeviceRecord& record, Bytes total);

// What others had of a card of `memory` bytes, if this one were it; 0 = not known. Where the trace
// doesn't say how large the recorded one was, the smallest of the usual sizes that has that room:
// a named card that is as large, or at most an eighth smaller, is that one. O(1).
Bytes outside(const RecordedCard& card, Bytes memory);

// "66.0 GiB reserved and 100 MiB free when it ran out of memory". O(1).
std::string room_text(const RecordedCard& card);

}  // namespace tidemark
