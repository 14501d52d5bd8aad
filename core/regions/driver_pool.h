// DriverPool: the CUDA driver's pool of stream-ordered memory (cudaMallocAsync), decision by
// decision.
//
// Model, found from recorded addresses (traces/samples/driver-pool, traces/samples/rmm/*.async; an
// H200, driver 580.159). docs/driver-pool.md says what is known and what isn't.
//
// - Sizes are multiples of 512 bytes. The pool is one run of addresses without an end, backed by
//   chunks of 32 MiB, each mapped at a multiple of its size from the run's beginning.
// - What a stream lets go waits in that stream's list, joined with its neighbours in the same list.
//   All other holes are common: joined with each other, whatever is mapped under them.
// - A request of stream t takes the best fit, of equal ones the one that came first, cut at its
//   front, from
//     1. the list of t, done or not (stream order);
//     2. common holes that are mapped all over;
//     3. the lists of other streams, in the order in which they came: what the device is done with;
//     4. after all lists have handed over to the common holes what the device is done with, stream
//        by stream as they came, the latest first: any hole. The last one has no end, and is the
//        worst fit. Chunks that are missing under the request are taken from under common holes,
//        the highest first, and only what is then still missing is new memory.
// - At a synchronization the lists hand over likewise, by the number of their stream; after each
//   block that is handed over, and only then, whole chunks under common holes go back, the highest
//   first, while more than the threshold is held.
//
// A value. Not thread-safe. O(log blocks + chunks / 64) a call, besides chunks that change hands,
// blocks that are handed over, and streams at steps 3 and 4. Times are moments on the caller's
// clock; those at which a stream is done must not fall.
#pragma once

#include <memory>
#include <optional>

#include "core/base/units.h"

namespace tidemark {

class DriverPool {
  public:
    static constexpr Bytes kUnit = 512;
    static constexpr Bytes kChunk = 32_MiB;

    // In `space`, of which the first chunk begins at its beginning.
    explicit DriverPool(Range space);
    DriverPool(const DriverPool& other);
    DriverPool(DriverPool&& other) noexcept;
    DriverPool& operator=(const DriverPool& other);
    DriverPool& operator=(DriverPool&& other) noexcept;
    ~DriverPool();

    struct Taken {
        Address address = Address::null;
        Bytes grown = 0;  // new memory
        Bytes moved = 0;  // chunks that were mapped elsewhere before
    };

    // `size` bytes (a multiple of kUnit, not 0) for `stream`, if that takes at most `room` bytes of
    // new memory and the addresses suffice.
    std::optional<Taken> take(Bytes size, StreamId stream, Nanoseconds now, Bytes room);

    // Takes back what was taken at `address`; `ready` is when `stream` is done with it. Its size,
    // or 0 if nothing was taken there.
    Bytes give(Address address, StreamId stream, Nanoseconds ready);

    // The host has waited for `stream`, or for all. What the pool gives back, in bytes.
    Bytes synchronized(StreamId stream, Nanoseconds now);
    Bytes synchronized(Nanoseconds now);

    // Gives whole chunks back while more than `keep` is held (cudaMemPoolTrimTo): how many bytes.
    Bytes trim(Bytes keep, Nanoseconds now);

    // What a pool without holes grows by for `size` bytes.
    static constexpr Bytes growth(Bytes size) { return align_up(size, kChunk); }

    Bytes held() const;

    bool has_grown() const { return has_grown_; }  // ever

    void set_threshold(Bytes threshold);  // 0 from the beginning

    // What was taken around `address`; size 0 if nothing was. O(blocks).
    Range find(Address address) const;

    bool covers(Address address) const {
        return address >= space_.begin && address - space_.begin < space_.size;
    }

  private:
    class State;

    Range space_;
    std::unique_ptr<State> state_;
    bool has_grown_ = false;
};

}  // namespace tidemark
