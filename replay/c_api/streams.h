// Streams: the program's stream handles as StreamIds of a context's device.
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <unordered_map>

#include "backends/cuda/cuda_device.h"
#include "replay/c_api/tidemark.h"

namespace tidemark::c_api {

// Thread-safe. O(1); a thread that goes on with its stream takes no lock.
class Streams {
  public:
    // Requests and frees on an unknown stream use one of the library's own.
    static constexpr StreamId kUnknown{1};

    // Other streams are numbered from here: policies can distinguish only about 60 low ids.
    static constexpr StreamId kFirst{2};

    // `card` is null for a simulated device; else it outlives this.
    explicit Streams(CudaDevice* card);

    // 2 is CUDA's handle of whichever thread calls.
    static bool known(tm_stream stream) { return stream < TM_STREAM_OF_REQUEST && stream != 2; }

    // The program may destroy a card's stream when its call has ended: a CudaVisit says how long
    // the call lasts.
    StreamId id_of(tm_stream stream);

    // As id_of, for a stream that lives as long as the card here.
    StreamId id_of_kept(tm_stream stream);

    // Whether there was more than one id so far.
    bool several() const { return several_.load(std::memory_order_relaxed); }

    // The handle that gave this id, TM_STREAM_UNKNOWN for kUnknown.
    tm_stream handle_of(StreamId id) const;

  private:
    StreamId look_up(tm_stream stream);
    StreamId noticed(StreamId id);

    static constexpr std::uint64_t kNone = ~std::uint64_t{0};

    CudaDevice* card_;
    std::uint64_t number_;  // of this object, among all that ever existed
    mutable std::shared_mutex mutex_;
    std::unordered_map<tm_stream, StreamId> ids_;
    std::unordered_map<StreamId, tm_stream> handles_;
    std::atomic<std::uint64_t> first_ = kNone;  // id
    std::atomic<bool> several_ = false;
};

}  // namespace tidemark::c_api
