// ChargedRun: blocks of host memory that a space pays for: a BlockRun and its Charge, which always
// say the same number of bytes (the charge in the granularity of its space).
//
// Bytes are charged before blocks are taken, and uncharged after they are back: what the space
// counts is never less than what is used. A refusal by either leaves both as they were
// (only a reservation that its policy has let grow stays so). Blocks that
// were charged to a reservation go back to it, or, when it is gone, to the space, even if another
// reservation has taken its place in the tables (the charge tells it by its generation).
//
// Not thread-safe; different runs may be used by different threads.
#pragma once

#include "core/tiers/block_run.h"
#include "core/tiers/reservation.h"

namespace tidemark {

// Who refused, and why.
struct RunRefusal {
    enum class By : std::uint8_t {
        space,        // `charge` says why
        blocks,       // `blocks` says why
        wrong_space,  // the reservation is of nothing, or of another space
    };
    By by = By::space;
    ChargeRefusal charge = {};
    BlockRefusal blocks = BlockRefusal::capacity;
};

template <class T>
using RunResult = tl::expected<T, RunRefusal>;

class ChargedRun {
  public:
    ChargedRun() = default;  // empty, of no pool
    ChargedRun(ChargedRun&& other) noexcept;
    ChargedRun& operator=(ChargedRun&& other) noexcept;
    ~ChargedRun();

    // Charged to `space`, which outlives the run, as `blocks` does.
    static RunResult<ChargedRun> allocate(HostBlocks& blocks, MemorySpace& space, Bytes size);

    // Charged to a reservation of `space`; beyond its size to the space, if its policy agrees. Any
    // other reservation is refused as wrong_space.
    static RunResult<ChargedRun> allocate(HostBlocks& blocks, MemorySpace& space,
                                          const MemoryReservation& reservation, Bytes size);

    const BlockRun& run() const { return run_; }

    const Charge& charge() const { return charge_; }

    // As those of the BlockRun.
    RunResult<void> grow_by(Bytes size);
    void trim_to(Bytes size);
    bool release(std::size_t index);
    void clear();

  private:
    static RunResult<ChargedRun> fill(HostBlocks& blocks, const Charge& charge, Bytes size);

    void settle();  // charges what the run holds now, which is not more than before

    BlockRun run_;
    Charge charge_;
};

}  // namespace tidemark
