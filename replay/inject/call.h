// Call: one entry or exit of a call of the driver, as CUPTI reports it, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/driver_api.h"
#include "replay/inject/memory_events.h"

namespace tidemark::inject {

// What is known of a thread between its calls, and between entry and exit of one: found once for
// each of them.
struct CallingThread {
    unsigned depth = 0;  // calls within calls: only the outermost is the program's

    // What the call has begun to end, until it is known whether that succeeds.
    bool has_ended = false;
    LiveAllocation ended;
    std::uint64_t physical = 0;

    // The context of its last call, whose device is `device` while `context_ends` is the same.
    cuda::CUcontext context = nullptr;
    std::uint32_t context_ends = 0;
    std::uint8_t device = kNoDevice;
};

struct Call {
    CallingThread& thread;
    std::size_t index = 0;  // of the calls that are recorded
    bool enters = false;
    bool per_thread = false;  // its default stream is the thread's own (_ptsz, _ptds)
    cuda::CUresult result = cuda::CUresult::success;  // on exit
    const void* params = nullptr;
    cuda::CUcontext context = nullptr;
    const char* symbol = nullptr;   // of a launch: the kernel's name
    std::uint32_t correlation = 0;  // CUPTI's number of the call

    bool succeeded() const { return !enters && result == cuda::CUresult::success; }

    template <class Params>
    const Params& as() const {
        return *static_cast<const Params*>(params);
    }

    // What a stream that is passed to it is known by. A default stream of a thread has a handle of
    // its own where it isn't the common one.
    std::uint64_t handle_of(cuda::CUstream stream) const {
        constexpr std::uint64_t kLegacyStream = 1;     // CU_STREAM_LEGACY
        constexpr std::uint64_t kPerThreadStream = 2;  // CU_STREAM_PER_THREAD
        const auto handle = reinterpret_cast<std::uint64_t>(stream);
        if (handle == 0 && per_thread)
            return kPerThreadStream;
        return handle == kLegacyStream ? 0 : handle;
    }
};

}  // namespace tidemark::inject
