// StreamPool: a context's own streams, each for one user at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "replay/c_api/streams.h"

namespace tidemark::c_api {

// Thread-safe. The stream that was released last is acquired next: its work is the most recent.
class StreamPool {
  public:
    static constexpr std::uint32_t kDefaultSize = 16;

    // `streams` and `card` (null: simulated) outlive it.
    StreamPool(Streams& streams, CudaDevice* card, std::uint32_t size)
        : streams_(streams), card_(card), size_(size == 0 ? kDefaultSize : size) {}

    // An idle one, a new one while there are fewer than `size` or with `grow`, or one that is
    // released. Errors: cancelled: wait_ended(); the device's.
    Result<tm_stream> acquire(bool grow);

    // Errors: not_found: it is not acquired.
    Result<void> release(tm_stream stream);

  private:
    Result<tm_stream> make();

    Streams& streams_;
    CudaDevice* card_;
    const std::uint32_t size_;
    std::mutex mutex_;
    std::condition_variable released_;
    std::vector<tm_stream> idle_;                 // the last is the next
    std::unordered_map<tm_stream, bool> in_use_;  // of all streams that were created
};

}  // namespace tidemark::c_api
