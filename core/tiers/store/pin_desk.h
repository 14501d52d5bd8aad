// PinDesk: pins of a TieredStore's buffers that have gates (gate.h): used without the store while
// they are where they belong, and brought back there otherwise.
//
//     const PinUse uses[] = {{weights, weights_gate, false}, {activations, activations_gate}};
//     std::vector<BufferPin> pins = *PinDesk(store).pin_all(uses, gpu, true).pins.take();
//     launch(kernel, s, ...);                // at the addresses of their BufferSpecs
//     for (BufferPin& pin : pins)
//         pin.release(s);                    // they leave after what is queued on s now
//
// A view of the store. Thread-safe. O(buffers of the call); no lock if all are there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/tiers/store/tiered_store.h"

namespace tidemark {

// A request that waits for pins, and the id for withdrawing it.
struct PendingPins {
    std::optional<RequestId> request;
    Pending<Result<std::vector<BufferPin>>> pins;
};

class PinDesk {
  public:
    explicit PinDesk(TieredStore& store) : store_(store) {}

    // The fast way of pin_all for one buffer: no lock, and nothing if that isn't enough.
    BufferPin try_pin(const PinUse& use);

    // Pins of buffers that have gates, in their own space, `space`: all or none, each once. They
    // are brought back if they are away. `patient`: waits for room until others release some.
    PendingPins pin_all(std::span<const PinUse> uses, SpaceId space, bool patient);

    // A request that has not been granted is refused (cancelled). False: too late.
    bool withdraw(RequestId request);

    // Whether the work that has been queued on the buffer is done.
    bool quiet(BufferRef buffer);

    // Whether it is moving to another space.
    bool moving(BufferRef buffer);

    // Whether anything is being copied, or leaving: there may be more room in a moment.
    bool settling();

    // No more work comes on the stream; its name may be reused.
    void stream_ended(StreamId stream);

    // Evicts one buffer from `space`, as free_bytes does with any. `freed` is 0 if it may not leave
    // or is elsewhere. If that fails, no copy of its content is lost.
    Pending<FreeReport> defer(BufferRef buffer, SpaceId space);

  private:
    friend class BufferPin;
    friend class TieredStore;

    void end(BufferPin& pin);
    std::vector<BufferPin> admit(std::span<const PinUse> uses);

    TieredStore& store_;
};

}  // namespace tidemark
