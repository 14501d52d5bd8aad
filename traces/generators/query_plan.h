// Plan: everything that one task of a query engine will do, planned before it starts, so that its
// need is known to the byte. Memory O(steps). Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "traces/generators/kernel_time.h"
#include "traces/model/event.h"

namespace tidemark::generators {

// Something that a kernel touches: a chunk of a table, or one of the task's own buffers.
struct Operand {
    std::uint64_t index = 0;
    std::uint8_t mode = kReads;
    bool is_chunk = false;
};

// One thing that a task does.
struct Step {
    EventKind kind = EventKind::use;     // allocate, free or use (a kernel)
    std::uint32_t buffer = 0;            // allocate, free: of the task's own
    Bytes size = 0;                      // allocate
    std::vector<Operand> operands = {};  // use
    Nanoseconds duration = 0;            // use
};

class Plan {
  public:
    explicit Plan(const KernelRates& rates) : rates_(rates) {}

    // Returns the number of the buffer: 0, 1, ... in order.
    std::uint32_t allocate(Bytes size) {
        steps_.push_back({.kind = EventKind::allocate, .buffer = count(), .size = size});
        sizes_.push_back(size);
        live_ += size;
        need_ = std::max(need_, live_);
        ++events_;
        return count() - 1;
    }

    void free(std::uint32_t buffer) {
        steps_.push_back({.kind = EventKind::free, .buffer = buffer});
        live_ -= sizes_[buffer];
        ++events_;
    }

    // One kernel, which moves this many bytes.
    void kernel(std::vector<Operand> operands, Bytes moved) {
        events_ += operands.size();
        steps_.push_back({.kind = EventKind::use,
                          .operands = std::move(operands),
                          .duration = kernel_time(rates_, moved)});
    }

    std::vector<Step> take_steps() { return std::move(steps_); }

    std::uint32_t count() const { return static_cast<std::uint32_t>(sizes_.size()); }

    // The most memory that it has at the same time.
    Bytes need() const { return need_; }

    // The number of its events in a trace.
    std::uint64_t events() const { return events_; }

  private:
    KernelRates rates_;
    std::vector<Step> steps_;
    std::vector<Bytes> sizes_;  // by buffer
    Bytes live_ = 0;
    Bytes need_ = 0;
    std::uint64_t events_ = 0;
};

}  // namespace tidemark::generators
