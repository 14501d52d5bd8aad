// TierExecutor: does for real what a replay over tiers decides: kernels that last as long as the
// recorded ones, copies out and in, waits between them. The replay decides on its virtual clock and
// tells the executor each decision as it is made; so both do the same, and only the times differ.
//
// Calls come from one thread, in the order of decisions, and queue work; none waits for it.
#pragma once

#include <cstdint>
#include <span>

#include "replay/tiers/tier_program.h"

namespace tidemark {

// A copy out of GPU memory, 1, 2, ... in the order of decisions: who takes the room that it leaves
// waits for it. 0: none.
using CopyNumber = std::uint64_t;

class TierExecutor {
  public:
    virtual ~TierExecutor() = default;

    virtual void begin_life(BufferId id, Bytes size) = 0;
    virtual void end_life(BufferId id) = 0;

    // The stream's next step comes `gap` after its last one, or after what it waited for.
    virtual void reached(std::uint32_t stream, Nanoseconds gap) = 0;

    // Copies the buffer to the host, after the work that `reached` has told of; `number` follows
    // the one before.
    virtual void copy_out(BufferId id, CopyNumber number) = 0;

    // Copies it back, into room that copy `room` left.
    virtual void copy_in(BufferId id, CopyNumber room) = 0;

    // The host's copy is wanted no more.
    virtual void forget(BufferId id) = 0;

    // The stream goes on when that copy has left; when the buffer's last copy_in has arrived.
    virtual void wait_room(std::uint32_t stream, CopyNumber room) = 0;
    virtual void wait_content(std::uint32_t stream, BufferId id) = 0;

    // The stream's kernel begins. It lasts until `reached` says.
    virtual void kernel(std::uint32_t stream, std::span<const TierUse> uses) = 0;
};

}  // namespace tidemark
