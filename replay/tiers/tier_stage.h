// TierStage: where a program is played over tiers: it carries out the copies, has the clock, and
// runs the kernels. The virtual one (virtual_stage.h) lets copies occupy the links of a machine on
// a virtual clock; a real one has memory, copies and kernels.
//
// One thread calls.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/tiers/engine/tiered_buffer.h"
#include "core/tiers/engine/transfer.h"
#include "replay/tiers/tier_run.h"

namespace tidemark {

// A buffer that a kernel uses.
struct StagedUse {
    BufferRef buffer;
    BlockLocation location;
    Bytes size = 0;
    bool reads = false;
    bool writes = false;
};

// How a stage ended.
struct StageEnd {
    Nanoseconds makespan = 0;       // by its own clock, if that is another one
    std::uint64_t wrong_bytes = 0;  // of content that was compared
};

class TierStage {
  public:
    static constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max();

    TierStage() = default;
    TierStage(const TierStage&) = delete;
    TierStage& operator=(const TierStage&) = delete;
    virtual ~TierStage() = default;

    virtual Transfers& transfers() = 0;

    // The current time, from the program's start.
    virtual Nanoseconds now() = 0;

    // Advances towards `when`, but not past the end of a copy, which the transfers report then.
    // False: `when` is kForever, and nothing is in flight.
    virtual bool wait_until(Nanoseconds when) = 0;

    // Whether kernels are really run: then the four below are called.
    virtual bool runs_kernels() const { return false; }

    // A kernel of the stream begins now and lasts until `end`.
    virtual void kernel(std::uint32_t /*stream*/, SpaceId /*gpu*/,
                        std::span<const StagedUse> /*uses*/, Nanoseconds /*end*/) {}

    // A point behind the stream's last kernel.
    virtual std::optional<UsePoint> point(std::uint32_t /*stream*/, SpaceId /*gpu*/) {
        return std::nullopt;
    }

    // The buffer has begun with content, at `location`; a copy of it is about to begin.
    virtual void begun(BufferRef /*buffer*/, const BlockLocation& /*location*/, Bytes /*size*/) {}

    virtual void copying(BufferRef /*buffer*/, const CopyOrder& /*order*/) {}

    // Waits for all work.
    virtual Result<StageEnd> finish() { return StageEnd{}; }

    // By the machine's links, in their order.
    virtual std::vector<TierLinkUse> links() const = 0;
};

}  // namespace tidemark
