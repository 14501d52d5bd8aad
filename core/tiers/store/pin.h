// BufferPin: the right to use a buffer of a TieredStore where it is, at its address, together with
// others.
#pragma once

#include <optional>

#include "core/tiers/engine/gate.h"
#include "core/tiers/engine/tiered_buffer.h"

namespace tidemark {

class TieredStore;

// The right to use a buffer that has a gate in its own space, together with others that pin it: it
// stays there, at its address. Move-only; ended by its destruction. Costs no lock if the buffer is
// there already. It does not order anyone's work.
class BufferPin {
  public:
    BufferPin() = default;  // empty
    BufferPin(BufferPin&& other) noexcept;
    BufferPin& operator=(BufferPin&& other) noexcept;

    ~BufferPin() { release(); }

    explicit operator bool() const { return store_ != nullptr; }

    // Ends it. Either all work on the buffer is done, or some is queued on `stream`, for which the
    // buffer waits before it leaves.
    void release();
    void release(StreamId stream);

    // The stream for work if no other is given.
    void set_stream(StreamId stream) { stream_ = stream; }

  private:
    friend class PinDesk;

    TieredStore* store_ = nullptr;
    BufferRef buffer_;
    Gate* gate_ = nullptr;
    std::optional<StreamId> stream_;
};

// A buffer to pin; `gate` is that of its BufferSpec.
struct PinUse {
    BufferRef buffer;
    Gate* gate = nullptr;
    bool write = true;  // other copies become void; else leaving again may cost no copy
};

}  // namespace tidemark
