// DriverPool: the CUDA driver's pool of stream-ordered memory (cudaMallocAsync), decision by
// decision.
//
// Model, found from recorded addresses (traces/samples/driver-pool, traces/samples/rmm/*.async; an
// H200, driver 580.159). docs/driver-pool.md says what is known and what isn't.
//
// - Sizes are multiples of 512 bytes. The pool is one endless run of addresses, backed by chunks
//   of 32 MiB, each mapped at a multiple of its size from the run's start.
// - A block that a stream frees waits in that stream's list, joined with its neighbours in the same
//   list. All other holes are common: joined with each other, whatever is mapped under them.
// - A request of stream t takes the best fit, of equal ones the one that came first, and cuts it at
//   its front, from
//     1. the list of t, whether or not the device has finished with it (stream order);
//     2. common holes that are entirely mapped;
//     3. the lists of other streams, in the order in which they came: blocks with which the device
//        has finished;
//     4. after all lists have moved such blocks to the common holes, stream by stream as they came,
//        the latest first: any hole. The last one has no end, and is the worst fit. Chunks that are
//        missing under the request are taken from under common holes, the highest first, and only
//        what is still missing then is new memory.
// - At a synchronization the lists move blocks in the same way, by the number of their stream.
//   After each moved block, and only then, whole chunks under common holes are released, the
//   highest first, while more than the threshold is held.
//
// A value. Not thread-safe. O(log blocks + chunks / 64) a call, plus chunks that change hands,
// moved blocks, and streams at steps 3 and 4. Times are moments on the caller's clock; the moments
// at which a stream finishes must not decrease.
#pragma once

#include <memory>
#include <optional>

#include "core/base/units.h"

namespace tidemark {

class DriverPool {
  public:
    static constexpr Bytes kUnit = 512;
    static constexpr Bytes kChunk = 32_MiB;

    // In `space`, whose first chunk begins at its start.
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

    // Frees what was taken at `address`; `ready` is when `stream` has finished with it. Returns its
    // size, or 0 if nothing was taken there.
    Bytes give(Address address, StreamId stream, Nanoseconds ready);

    // The host has waited for `stream`, or for all. Returns how many bytes the pool releases.
    Bytes synchronized(StreamId stream, Nanoseconds now);
    Bytes synchronized(Nanoseconds now);

    // Releases whole chunks while more than `keep` is held (cudaMemPoolTrimTo); returns how many
    // bytes.
    Bytes trim(Bytes keep, Nanoseconds now);

    // How much a pool without holes grows for `size` bytes.
    static constexpr Bytes growth(Bytes size) { return align_up(size, kChunk); }

    Bytes held() const;

    bool has_grown() const { return has_grown_; }  // ever

    void set_threshold(Bytes threshold);  // 0 at the start

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
