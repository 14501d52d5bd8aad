// AsyncPool: the device's pool of stream-ordered memory (cudaMallocAsync).
//
// Model, a simple one: the pool holds segments of multiples of 32 MiB. A request takes the lowest
// run of free bytes that its stream may use: those that it let go itself, and those of others whose
// point has passed. The pool grows when there is none, and gives wholly free segments back, highest
// first, when told to. What the driver does exactly is more subtle and not modelled here.
//
// Times are moments on the caller's clock. Not thread-safe. O(free ranges) a call.
#pragma once

#include <map>
#include <optional>

#include "backends/sim/address_space.h"
#include "core/base/units.h"

namespace tidemark {

class AsyncPool {
  public:
    static constexpr Bytes kUnit = 512;
    static constexpr Bytes kSegment = 32_MiB;

    explicit AsyncPool(AddressSpace space) : space_(std::move(space)) {}

    // `size` bytes (a multiple of kUnit, not 0) of what the pool holds, for use on `stream`.
    std::optional<Address> take(Bytes size, StreamId stream, Nanoseconds now);

    // What the pool must grow by to hold `size` more.
    static Bytes growth(Bytes size) { return align_up(size, kSegment); }

    // Adds a free segment. False: no address space.
    bool grow(Bytes size);

    // Takes back what lives at exactly `address`; `ready` is when `stream` is done with it. Its
    // size, or 0 if nothing lives there.
    Bytes give(Address address, StreamId stream, Nanoseconds ready);

    // Gives wholly free segments back until at most `keep` bytes are held, as far as it can be.
    // `freed(range)` sees each.
    template <class Freed>
    void trim(Bytes keep, Nanoseconds now, Freed freed) {
        while (held_ > keep) {
            const std::optional<Range> segment = last_free_segment(now);
            if (!segment)
                return;
            drop(*segment);
            freed(*segment);
        }
    }

    Bytes held() const { return held_; }

    bool has_grown() const { return has_grown_; }

    Bytes threshold() const { return threshold_; }

    void set_threshold(Bytes threshold) { threshold_ = threshold; }

    // What lives around `address`; size 0 if nothing does.
    Range find(Address address) const;

    bool covers(Address address) const { return space_.covers(address); }

  private:
    struct FreeRange {
        Bytes size = 0;
        StreamId stream = StreamId::default_stream;
        Nanoseconds ready = 0;
    };

    using FreeRanges = std::map<Address, FreeRange>;

    Address carve(FreeRanges::iterator first, FreeRanges::iterator last, Bytes size);
    std::optional<Range> last_free_segment(Nanoseconds now) const;
    void drop(Range segment);

    AddressSpace space_;  // segments
    Bytes held_ = 0;
    bool has_grown_ = false;  // ever
    Bytes threshold_ = 0;
    std::map<Address, Bytes> live_;
    FreeRanges free_;
};

}  // namespace tidemark
