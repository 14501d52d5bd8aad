// CudaEvents: the native events of one device, made without timing and reused.
//
// An event is taken, recorded, and returned once its point has passed. A caller that uses one
// outside of its stream's lock holds it meanwhile, so that nobody records it again during that
// time. Thread-safe; O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "backends/cuda/cuda_context.h"

namespace tidemark {

struct CudaEvent {
    cuda::CUevent native = nullptr;
    std::uint32_t holds = 0;
    bool given_back = false;  // while held: free as soon as it is not
};

class CudaEvents {
  public:
    explicit CudaEvents(const CudaDriver& driver) : driver_(driver) {}

    CudaEvents(const CudaEvents&) = delete;
    CudaEvents& operator=(const CudaEvents&) = delete;

    // An unused event; makes a new one if all are in use.
    DeviceResult<CudaEvent*> take(CudaCall& call);
    void give_back(CudaEvent* event);

    void hold(CudaEvent* event);
    void let_go(CudaEvent* event);

    // How many native events there are.
    std::size_t count() const;

    // Destroys them all. No other call may follow.
    void destroy();

  private:
    const CudaDriver& driver_;
    mutable std::mutex mutex_;
    std::deque<CudaEvent> all_;  // stable addresses
    std::vector<CudaEvent*> idle_;
};

}  // namespace tidemark
