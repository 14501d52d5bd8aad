// The pool of native events.
#include "backends/cuda/cuda_events.h"

namespace tidemark {

DeviceResult<CudaEvent*> CudaEvents::take(CudaCall& call) {
    {
        const std::lock_guard lock{mutex_};
        if (!idle_.empty()) {
            CudaEvent* event = idle_.back();
            idle_.pop_back();
            return event;
        }
    }
    cuda::CUevent native = nullptr;
    TM_TRY(call.make(driver_.cuEventCreate, &native, cuda::kEventDisableTiming));
    const std::lock_guard lock{mutex_};
    return &all_.emplace_back(CudaEvent{native, 0, false});
}

void CudaEvents::give_back(CudaEvent* event) {
    const std::lock_guard lock{mutex_};
    if (event->holds == 0)
        idle_.push_back(event);
    else
        event->given_back = true;
}

void CudaEvents::hold(CudaEvent* event) {
    const std::lock_guard lock{mutex_};
    ++event->holds;
}

void CudaEvents::let_go(CudaEvent* event) {
    const std::lock_guard lock{mutex_};
    if (--event->holds > 0 || !event->given_back)
        return;
    event->given_back = false;
    idle_.push_back(event);
}

std::size_t CudaEvents::count() const {
    const std::lock_guard lock{mutex_};
    return all_.size();
}

void CudaEvents::destroy() {
    const std::lock_guard lock{mutex_};
    idle_.clear();
    for (const CudaEvent& event : all_)
        static_cast<void>(driver_.cuEventDestroy_v2(event.native));
    all_.clear();
}

}  // namespace tidemark
