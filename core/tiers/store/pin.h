// BufferPin: the right to use a buffer of a TieredStore where it is, at its address, beside others.
#pragma once

#include <optional>

#include "core/tiers/engine/gate.h"
#include "core/tiers/engine/tiered_buffer.h"

namespace tidemark {

class TieredStore;

// The right to use a buffer that has a gate in its own space, together with others who pin it: it
// stays there, at its address. Move-only; ended by its destruction. Costs no lock where the buffer
// is there already; says nothing about the order of anybody's work.
class BufferPin {
  public:
    BufferPin() = default;  // of nothing
    BufferPin(BufferPin&& other) noexcept;
    BufferPin& operator=(BufferPin&& other) noexcept;

    ~BufferPin() { release(); }

    explicit operator bool() const { return store_ != nullptr; }

    // Ends it. All work on the buffer has been done; or some is queued on `stream`, which the
    // buffer's leaving will wait for.
    void release();
    void release(StreamId stream);

    // What work is queued on when nothing else is said.
    void set_stream(StreamId stream) { stream_ = stream; }

  private:
    friend class PinDesk;

    TieredStore* store_ = nullptr;
    BufferRef buffer_;
    Gate* gate_ = nullptr;
    std::optional<StreamId> stream_;
};

// A buffer that is to be pinned; `gate` is that of its BufferSpec.
struct PinUse {
    BufferRef buffer;
    Gate* gate = nullptr;
    bool write = true;  // other copies become void; else leaving it again may cost no copy
};

}  // namespace tidemark
