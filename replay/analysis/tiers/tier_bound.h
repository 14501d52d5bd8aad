// TierBound: how few bytes any policy can move. For a program and a size of GPU memory, a lower
// bound on the bytes out of the GPU plus the bytes into it, whatever is evicted when. The figures
// of real policies are compared with it, since farthest-next-use is not optimal if sizes differ and
// clean copies are dropped for free.
//
// Model: a policy that keeps what the program holds. Between two uses of a buffer there is an
// interval in which it stays (and takes its size of every kernel's memory meanwhile) or is away.
// Being away costs its size in, if the next use reads it, and its size out once from one write to
// the next: also for content that nothing reads any more, as no policy knows that it is dead. What
// was never written costs nothing. While a kernel runs, what it uses and what stays must fit
// together.
//
// Method: Lagrangian relaxation. Each kernel's memory gets a price per byte; under any prices, what
// each buffer would pay at least, less what the memory is worth, is a lower bound. The best choice
// for one write is found exactly in O(its intervals). The prices climb along a running mean of the
// subgradients (after the volume algorithm, Barahona and Anbil 2000), each price with a step of its
// own (AdaGrad: Duchi, Hazan and Singer 2011) that shrinks to nothing by the last round. The limit
// is the bound of the linear relaxation, in which a part of a buffer may stay and the rest be away,
// except where the whole would not fit together with what a kernel uses.
//
// On real traces at 80 to 40 % of their peak, the best policy known moves 0.2 to 4 % more than the
// bound for training and serving, and up to 40 % more for a query of few large buffers. On small
// random programs the bound is 85 % of the true optimum on average (tests).
//
// The recorded order of steps is taken as the order of execution: with several streams a replay may
// run kernels in another order, and the bound then holds for the recorded one. Buffers that begin
// in another tier, or that the program moves itself, are left out, which keeps it a lower bound.
// Deterministic: fixed rounds, doubles in a fixed order. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "replay/tiers/tier_program.h"
#include "traces/model/trace.h"

namespace tidemark {

struct TierBound {
    bool runs = false;         // whether the largest kernel fits: else nothing else is said
    Bytes bytes = 0;           // no policy moves fewer, out and in; rounded down
    Bytes least_capacity = 0;  // of each GPU, for the largest kernel
    std::uint32_t rounds = 0;  // made, over all GPUs
};

constexpr std::uint32_t kTierBoundRounds = 2000;

// For GPUs of `capacity` bytes each, in `rounds` rounds a GPU (fewer if nothing overflows),
// each O(uses + kernels). Fewer rounds give a lower bound too, a worse one; none is begun once
// `cancelled` says so.
TierBound tier_bound(const TierProgram& program, Bytes capacity,
                     std::uint32_t rounds = kTierBoundRounds, const Cancelling& cancelled = {});

}  // namespace tidemark
