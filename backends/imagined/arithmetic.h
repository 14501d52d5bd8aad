// Results of PyTorch's kernels for integers, booleans and single floats, where their inputs are
// known: masks, counts, ranges, "is it done yet". A program's sizes and loops depend on these, and
// on little else that a kernel computes.
//
// Nothing is executed: a kernel is recognised by its name, which contains the types and the
// operation of its template, and its arguments are read where the launch says that they are. The
// layouts are those of aten/src/ATen/native/cuda (CUDALoops.cuh, Loops.cuh, Reduce.cuh,
// OffsetCalculator.cuh, MemoryAccess.cuh) and of CUB's DeviceReduce; anything that doesn't look
// like them is left alone.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "backends/imagined/contents.h"

namespace tidemark::imagined {

// One recognised kernel. Immutable, thread-safe.
class Computation {
  public:
    virtual ~Computation() = default;

    // How many arguments `run` reads.
    virtual std::size_t arguments() const = 0;

    // Writes the kernel's result into `contents`. Memory that it overwrites with unknown values
    // becomes unknown. O(elements), up to kMostComputed of them.
    virtual void run(void** arguments, Contents& contents) const = 0;
};

constexpr std::size_t kMostComputed = std::size_t{1} << 22;  // elements of a launch

// For a kernel's name, demangled; null if it isn't one of these. O(length).
std::unique_ptr<const Computation> elementwise_of(const std::string& name);
std::unique_ptr<const Computation> reduction_of(const std::string& name);

}  // namespace tidemark::imagined
