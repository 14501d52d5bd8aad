// Charge, take; give back, uncharge.
#include "core/tiers/charged_run.h"

#include <utility>

#include "core/base/check.h"
#include "core/tiers/host_blocks.h"
#include "core/tiers/memory_space.h"

namespace tidemark {
namespace {

tl::unexpected<RunRefusal> refused(const ChargeRefusal& why) {
    return tl::make_unexpected(RunRefusal{.by = RunRefusal::By::space, .charge = why});
}

tl::unexpected<RunRefusal> refused(BlockRefusal why) {
    return tl::make_unexpected(RunRefusal{.by = RunRefusal::By::blocks, .blocks = why});
}

}  // namespace

ChargedRun::ChargedRun(ChargedRun&& other) noexcept
    : run_(std::move(other.run_)), charge_(std::exchange(other.charge_, {})) {}

ChargedRun& ChargedRun::operator=(ChargedRun&& other) noexcept {
    ChargedRun taken(std::move(other));
    std::swap(run_, taken.run_);
    std::swap(charge_, taken.charge_);
    return *this;
}

ChargedRun::~ChargedRun() {
    run_.clear();
    if (charge_)
        charge_.space->uncharge(charge_);
}

RunResult<ChargedRun> ChargedRun::allocate(HostBlocks& blocks, MemorySpace& space, Bytes size) {
    const tl::expected<Charge, ChargeRefusal> nothing = space.charge(0);
    if (!nothing)
        return refused(nothing.error());
    return fill(blocks, *nothing, size);
}

RunResult<ChargedRun> ChargedRun::allocate(HostBlocks& blocks, MemorySpace& space,
                                           const MemoryReservation& reservation, Bytes size) {
    if (!reservation || &reservation.space() != &space)
        return tl::make_unexpected(RunRefusal{.by = RunRefusal::By::wrong_space});
    const tl::expected<Charge, ChargeRefusal> nothing = space.charge(0, reservation.id());
    if (!nothing)
        return refused(nothing.error());
    return fill(blocks, *nothing, size);
}

// An empty run that pays by `charge`, grown.
RunResult<ChargedRun> ChargedRun::fill(HostBlocks& blocks, const Charge& charge, Bytes size) {
    ChargedRun made;
    made.charge_ = charge;
    BlockResult<BlockRun> run = blocks.allocate(0);
    TM_CHECK(run.has_value());
    made.run_ = std::move(*run);
    TM_TRY(made.grow_by(size));
    return made;
}

RunResult<void> ChargedRun::grow_by(Bytes size) {
    const Bytes block = run_.block_size();
    if (block == 0)
        return refused(BlockRefusal::no_pool);
    // What nobody has is refused as it was asked: whole blocks of it may not be a number.
    const Bytes more = size < kLargestRequest ? (size + block - 1) / block * block : size;
    const tl::expected<void, ChargeRefusal> charged =
        charge_.space->recharge(charge_, size < kLargestRequest ? run_.size() + more : size);
    if (!charged)
        return refused(charged.error());
    if (const BlockResult<void> grown = run_.grow_by(size); !grown) {
        settle();
        return refused(grown.error());
    }
    return {};
}

void ChargedRun::trim_to(Bytes size) {
    run_.trim_to(size);
    settle();
}

bool ChargedRun::release(std::size_t index) {
    const bool released = run_.release(index);
    settle();
    return released;
}

void ChargedRun::clear() {
    run_.clear();
    settle();
}

void ChargedRun::settle() {
    if (charge_)
        TM_CHECK(charge_.space->recharge(charge_, run_.size()));
}

}  // namespace tidemark
