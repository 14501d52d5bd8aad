// OwnerDetails: what one owner's memory consists of at a moment: how many blocks, and the call
// stack that most of it is from.
//
// Pure; for jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "replay/timeline/owner_series.h"
#include "viz/model/session/job.h"

namespace tidemark::viz {

struct OwnerQuestion {
    std::shared_ptr<const OwnerSeries> series;
    EventIndex event = 0;  // below series->events()
    std::size_t owner = 0;

    friend bool operator==(const OwnerQuestion&, const OwnerQuestion&) = default;
};

struct OwnerDetails {
    OwnerQuestion question;
    Bytes bytes = 0;  // the program holds them: as the series says
    std::uint64_t blocks = 0;
    std::uint32_t stack = 0;  // of History::stacks()
    Bytes of_stack = 0;
};

// The same for the blocks for which `counts` is true and that the program holds after `event`;
// without a question. O(live blocks). Cancelled: wrong.
OwnerDetails sum_live(const History& history, EventIndex event,
                      const std::function<bool(BlockIndex)>& counts, const Cancelled& cancelled);

// `history` is the series'. O(live blocks). Cancelled: wrong.
OwnerDetails owner_details(const History& history, const OwnerQuestion& question,
                           const Cancelled& cancelled);

}  // namespace tidemark::viz
