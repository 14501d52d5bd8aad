// MomentDiff: how a run's allocated memory changed between two moments, by owner: blocks that came,
// blocks that went, and blocks that stayed. What came minus what went is the growth of allocated
// memory.
//
// Pure; for jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/timeline/block_classes.h"
#include "replay/timeline/history.h"
#include "viz/model/session/job.h"
#include "viz/model/session/moment.h"
#include "viz/model/session/session.h"

namespace tidemark::viz {

struct DiffQuestion {
    EventSpan span;  // from the state after span.first to that after span.last
    BlockTrait trait = BlockTrait::tag;
    Filter filter;

    friend bool operator==(const DiffQuestion&, const DiffQuestion&) = default;
};

struct BlockSum {
    Bytes bytes = 0;
    std::uint64_t blocks = 0;

    friend bool operator==(const BlockSum&, const BlockSum&) = default;
};

struct OwnerDiff {
    BlockClass owner;
    BlockSum came;                  // live only at the end
    BlockSum went;                  // live only at the start
    BlockSum stayed;                // live at both
    BlockIndex largest = kNoBlock;  // of those that came, else of those that went, else of all

    // Negative: it has shrunk.
    std::int64_t change() const {
        return static_cast<std::int64_t>(came.bytes) - static_cast<std::int64_t>(went.bytes);
    }

    Bytes before() const { return went.bytes + stayed.bytes; }

    Bytes after() const { return came.bytes + stayed.bytes; }
};

enum class DiffOrder : std::uint8_t { change, came, went, stayed };

struct MomentDiff {
    DiffQuestion question;
    std::vector<OwnerDiff> owners;  // by change, largest first, in either direction
    OwnerDiff all;
};

// Blocks that the program holds, in GPU memory. O(live blocks). Cancelled: empty.
MomentDiff moment_diff(const History& history, const DiffQuestion& question,
                       const Cancelled& cancelled);

// The largest first; equal ones keep their order. O(owners * log owners).
void sort_owners(MomentDiff& diff, DiffOrder order);

// The same as a table of text, for the clipboard.
std::string diff_text(const History& history, const MomentDiff& diff);

}  // namespace tidemark::viz
