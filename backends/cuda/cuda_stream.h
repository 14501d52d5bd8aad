// CudaStream: one stream of a device and the points recorded on it whose work has not been seen
// finished. CudaPoints: those points, in order, each with the native event that tells.
//
// A point that has passed implies every earlier one of its stream, so what is kept is the number
// up to which all have passed, and a queue of the later ones. Thread-safety: CudaPoints has none
// and is used under its stream's mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "backends/cuda/cuda_events.h"

namespace tidemark {

struct CudaPoint {
    std::uint64_t number = 0;  // 1, 2, ... on its stream
    CudaEvent* event = nullptr;
    bool captured = false;  // recorded while the stream was captured: it lies in no queue
};

class CudaPoints {
  public:
    // A stream keeps at most this many points apart.
    static constexpr std::size_t kPointsMax = 1024;

    explicit CudaPoints(CudaEvents& events) : events_(events) {}

    std::uint64_t last() const { return last_; }

    // Also without the mutex: then it may say no a moment too long.
    bool passed(std::uint64_t number) const {
        return number <= passed_.load(std::memory_order_acquire);
    }

    std::size_t unfinished() const { return points_.size(); }

    // Appends the next point; `event` has just been recorded for it. Gives its number.
    std::uint64_t append(CudaEvent* event, bool captured);

    // The number of a point that has passed with all before it, of which none is kept. O(1).
    std::uint64_t append_passed();

    // The point whose event tells whether `number` has passed: the first one kept that is not
    // earlier, else the last one. Null where none is kept: all real work before it has passed.
    // O(log n).
    const CudaPoint* telling(std::uint64_t number) const;

    // All points up to `number` have passed: their events are given back. O(1) amortized.
    void pass(std::uint64_t number);

    // The captures that these points were part of are over. O(n), nothing where none is captured.
    void drop_captured();

    // Makes room where there are many: asks about one in the middle if `may_ask`, else, at
    // kPointsMax, merges every second point into its successor. Called before each append; costs
    // a driver call in every 16 or less, as long as the device keeps up.
    void make_room(CudaCall& call, bool may_ask);

  private:
    static constexpr std::size_t kAskFirst = 32;

    void merge();

    CudaEvents& events_;
    std::deque<CudaPoint> points_;
    std::uint64_t last_ = 0;
    std::atomic<std::uint64_t> passed_{0};
    std::size_t captured_ = 0;        // how many of `points_` are
    std::size_t ask_at_ = kAskFirst;  // how many points there are when it is worth asking
};

struct CudaStream {
    CudaStream(StreamId name, std::uint32_t slot_index, CudaEvents& events)
        : id(name), slot(slot_index), points(events) {}

    std::mutex mutex;  // of all that is neither const nor atomic
    const StreamId id;
    const std::uint32_t slot;
    cuda::CUstream native = nullptr;
    bool made = false;   // `native` is there to be used; from then on both stay
    bool owned = false;  // we made it and destroy it
    // Others have its handle, and may capture it; of a borrowed one: it was captured.
    std::atomic<bool> foreign = false;
    // The program may destroy it whenever it is not in a call about it: see CudaVisit.
    std::atomic<bool> borrowed = false;
    std::atomic<bool> untold = false;  // borrowed, and there is no point yet for what is queued
    std::uint64_t native_number = 0;   // borrowed: which of the streams that had this handle
    std::atomic<bool> closed = false;  // disowned
    bool begun = false;                // we began its capture
    CudaPoints points;
};

}  // namespace tidemark
