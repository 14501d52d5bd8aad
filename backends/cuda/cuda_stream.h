// CudaStream: one stream of a device and the points recorded on it whose work has not been seen
// finished. CudaPoints: those points, in order, each with its native event.
//
// A point that has passed implies every earlier one of its stream. So this keeps the number up to
// which all have passed, and a queue of the later ones. Thread-safety: CudaPoints has none and is
// used under its stream's mutex.
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
    bool captured = false;  // recorded while the stream was captured: it is in no queue
};

class CudaPoints {
  public:
    // A stream keeps at most this many points separate.
    static constexpr std::size_t kPointsMax = 1024;

    explicit CudaPoints(CudaEvents& events) : events_(events) {}

    std::uint64_t last() const { return last_; }

    // May also be called without the mutex: then it may return false a moment too long.
    bool passed(std::uint64_t number) const {
        return number <= passed_.load(std::memory_order_acquire);
    }

    std::size_t unfinished() const { return points_.size(); }

    // Appends the next point; `event` has just been recorded for it. Returns its number.
    std::uint64_t append(CudaEvent* event, bool captured);

    // The number of a point that has passed, like all before it, of which none is kept. O(1).
    std::uint64_t append_passed();

    // The point whose event shows whether `number` has passed: the first kept one that is not
    // earlier, else the last one. Null if none is kept: all real work before it has passed. O(log
    // n).
    const CudaPoint* telling(std::uint64_t number) const;

    // All points up to `number` have passed: their events are returned. O(1) amortized.
    void pass(std::uint64_t number);

    // The captures that these points were part of have ended. O(n), nothing if none is captured.
    void drop_captured();

    // Makes room if there are many: checks one in the middle if `may_ask`, else, at kPointsMax,
    // merges every second point into its successor. Called before each append; costs one driver
    // call per 16 or fewer points, as long as the device keeps up.
    void make_room(CudaCall& call, bool may_ask);

  private:
    static constexpr std::size_t kAskFirst = 32;

    void merge();

    CudaEvents& events_;
    std::deque<CudaPoint> points_;
    std::uint64_t last_ = 0;
    std::atomic<std::uint64_t> passed_{0};
    std::size_t captured_ = 0;        // how many of `points_` are
    std::size_t ask_at_ = kAskFirst;  // how many points there are when a check is worthwhile
};

struct CudaStream {
    CudaStream(StreamId name, std::uint32_t slot_index, CudaEvents& events)
        : id(name), slot(slot_index), points(events) {}

    std::mutex mutex;  // guards everything that is neither const nor atomic
    const StreamId id;
    const std::uint32_t slot;
    cuda::CUstream native = nullptr;
    bool made = false;   // `native` is usable; from then on neither changes
    bool owned = false;  // we made it and destroy it
    // Others have its handle and may capture it; for a borrowed one: it was captured.
    std::atomic<bool> foreign = false;
    // The program may destroy it whenever it is not in a call about it: see CudaVisit.
    std::atomic<bool> borrowed = false;
    std::atomic<bool> untold = false;  // borrowed, and no point covers the queued work yet
    std::uint64_t native_number = 0;   // borrowed: which of the streams with this handle
    std::atomic<bool> closed = false;  // disowned
    bool begun = false;                // we began its capture
    CudaPoints points;
};

}  // namespace tidemark
