// BlockTable: the blocks that are live at one moment, or at any moment of a stretch, filtered and
// sorted: rows for a table of any length, made in the background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "replay/timeline/history.h"
#include "viz/model/session/async_query.h"
#include "viz/model/session/job.h"
#include "viz/model/session/moment.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

enum class BlockOrder : std::uint8_t {
    size,
    requested,
    age,
    lived,  // until it was freed; blocks that were not freed have the longest
    freed,
    address,
    stream,
    site,
};

// What a table of blocks shows.
struct BlockQuestion {
    EventIndex event = 0;                // blocks that are live after it
    std::optional<EventSpan> span = {};  // if set: those that are live at some moment of it instead
    Filter filter = {};
    BlockOrder order = BlockOrder::size;
    bool descending = true;

    friend bool operator==(const BlockQuestion&, const BlockQuestion&) = default;
};

struct BlockRows {
    BlockQuestion question;
    std::vector<BlockIndex> rows;
    Bytes bytes = 0;           // of the rows
    Bytes largest = 0;         // the same
    std::uint64_t hidden = 0;  // blocks that the filter hides
    Bytes hidden_bytes = 0;
};

// Answers the question; ties are broken by allocation order. O(live log live + sites log sites);
// cancelled:
// an empty answer.
BlockRows block_rows(const History& history, const BlockQuestion& question,
                     const Cancelled& cancelled);

// "4,211 blocks, 61.2 GiB (hidden by the filter: 12 blocks, 3.00 KiB)".
std::string totals_text(const BlockRows& rows);

using BlockTable = AsyncQuery<BlockQuestion, BlockRows>;

}  // namespace tidemark::viz
