// GraphWork: the work that graph proofs are made of, on words of 4 bytes: fill, combine, check. On
// a GPU by kernels of our own (PTX, compiled by the driver); on any Device by copies and patterns,
// so that the same proof runs on the simulator.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/cuda/cuda_device.h"
#include "core/device/device.h"

namespace tidemark::gpu {

// `factor` times what is at `address`.
struct Term {
    std::uint32_t factor = 0;
    Address address = Address::null;
};

// `factor` times what a fill with `seed` writes.
struct Expected {
    std::uint32_t factor = 0;
    std::uint32_t seed = 0;
};

// Every call queues on `stream`, save wrong(). A driver that refuses fails the test.
class GraphWork {
  public:
    virtual ~GraphWork() = default;

    // Words that depend on the seed, and on where they are.
    virtual void fill(Address target, Bytes size, std::uint32_t seed, StreamId stream) = 0;

    virtual void combine(Address target, Term a, Term b, Bytes size, StreamId stream) = 0;

    // Counts words that are not the sum of both terms.
    virtual void check(Address target, Expected a, Expected b, Bytes size, StreamId stream) = 0;

    // How many words were wrong since the last time. Waits for all work.
    virtual std::uint64_t wrong() = 0;
};

std::unique_ptr<GraphWork> make_kernel_work(CudaDevice& device);

// `combine` copies the first term, and `check` looks for what a fill with the first seed wrote.
std::unique_ptr<GraphWork> make_copy_work(Device& device);

// The first GPU, its context current on this thread; null, and said so, where there is none.
std::unique_ptr<CudaDevice> open_gpu(const CudaConfig& config = {});

// Prints a fact as a line of a table.
void seen(const char* what, const std::string& came);

}  // namespace tidemark::gpu
