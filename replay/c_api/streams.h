// Streams: the program's stream handles as StreamIds of a context's device.
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <unordered_map>

#include "backends/cuda/cuda_device.h"
#include "replay/c_api/tidemark.h"

namespace tidemark::c_api {

// Thread-safe. O(1); a thread that goes on with its stream takes no lock.
class Streams {
  public:
    // What is requested and freed on a stream that nobody knows is on one of the library's own.
    static constexpr StreamId kUnknown{1};

    // `card` is null for a simulated device; else it outlives this.
    explicit Streams(CudaDevice* card);

    // 2 is CUDA's handle of whichever thread calls.
    static bool known(tm_stream stream) { return stream != TM_STREAM_UNKNOWN && stream != 2; }

    StreamId id_of(tm_stream stream);

    // The handle that gave this id, TM_STREAM_UNKNOWN for kUnknown.
    tm_stream handle_of(StreamId id) const;

  private:
    StreamId look_up(tm_stream stream);

    CudaDevice* card_;
    std::uint64_t number_;  // of this object, of all that ever were
    mutable std::shared_mutex mutex_;
    std::unordered_map<tm_stream, StreamId> ids_;
    std::unordered_map<StreamId, tm_stream> handles_;
};

}  // namespace tidemark::c_api
