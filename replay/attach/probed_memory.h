// ProbedMemory: turns the hits of PyTorch's probes into events of a recording
// (traces/live/publisher.h), and keeps the live blocks, because a free reports only its address.
//
// One thread.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "replay/attach/probe_program.h"
#include "traces/live/publisher.h"

namespace tidemark::attach {

struct ProbedCounts {
    std::uint64_t unknown_frees = 0;    // of blocks from before, or that passed no probe
    std::uint64_t missed_frees = 0;     // another block was allocated at a live address
    std::uint64_t unknown_devices = 0;  // allocations on one that the recording doesn't have
};

class ProbedMemory {
  public:
    // `publisher` outlives it and takes given times.
    ProbedMemory(live::Publisher& publisher, std::size_t devices)
        : publisher_(publisher), devices_(devices) {}

    void on_malloc(const Hit& hit);
    void on_free(const Hit& hit);

    const ProbedCounts& counts() const { return counts_; }

  private:
    struct Block {
        std::uint64_t size = 0;
        std::uint8_t device = 0;
    };

    void end(std::uint64_t time, std::uint64_t address, const Block& block);

    live::Publisher& publisher_;
    const std::size_t devices_;
    std::unordered_map<std::uint64_t, Block> live_;
    ProbedCounts counts_;
};

}  // namespace tidemark::attach
