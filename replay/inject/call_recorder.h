// CallRecorder: turns the driver calls that CUPTI reports into events of a running program
// (traces/live/publisher.h): how a GPU's memory is allocated, mapped and freed, and which requests
// fail.
//
// An allocation is recorded when its call has succeeded, a free before its call does anything:
// otherwise another thread could get the same address, and be recorded, before the free. A free
// that then fails is recorded as a new allocation.
//
// The devices of the recording are the GPUs, and behind them one for the host's memory that GPUs
// can read: allocated for that, or registered. The tag of an event is the driver's function.
//
// On request it also records what launches and copies use (use_recorder.h).
//
// Thread-safe. An event costs its thread about 50 ns; a call of the virtual memory family waits for
// others of that family.
#pragma once

#include <atomic>
#include <cstdint>

#include "replay/inject/call.h"
#include "replay/inject/cupti.h"
#include "replay/inject/driver_queries.h"
#include "replay/inject/gpu_times.h"
#include "replay/inject/live_ranges.h"
#include "replay/inject/memory_events.h"
#include "replay/inject/memory_pools.h"
#include "replay/inject/physical_memory.h"
#include "replay/inject/use_recorder.h"

namespace tidemark::inject {

class CallRecorder {
  public:
    CallRecorder(const Cupti& cupti, const RecordOptions& options, const ReportFile& report);

    void on_driver_call(std::uint32_t id, const CUpti_CallbackData& data);
    void on_resource(std::uint32_t id, cuda::CUcontext context);

    // For the program's own ranges (nvtx_ranges.h), and to end the recording: calls that are
    // reported then or afterwards may be lost.
    MemoryEvents& events() { return memory_; }

    // To be started before calls are reported, if launches are to have the GPU's times.
    GpuTimes& times() { return times_; }

    // For recorded_calls.inc: each takes its calls on exit; those that end something also on entry.
    void allocate(const Call& call);
    void allocate_pitch(const Call& call);
    void allocate_async(const Call& call);
    void allocate_from_pool(const Call& call);
    void allocate_host(const Call& call);
    void register_host(const Call& call);
    void free(const Call& call);
    void free_async(const Call& call);
    void create_array(const Call& call);
    void create_array_3d(const Call& call);
    void create_mipmapped(const Call& call);
    void destroy_array(const Call& call);
    void reserve(const Call& call);
    void unreserve(const Call& call);
    void create_physical(const Call& call);
    void release_physical(const Call& call);
    void retain_physical(const Call& call);
    void map(const Call& call);
    void unmap(const Call& call);
    void open_ipc(const Call& call);
    void create_pool(const Call& call);
    void destroy_pool(const Call& call);
    void default_pool(const Call& call);
    void set_pool(const Call& call);
    void add_graph_memory(const Call& call);
    void begin_capture(const Call& call);
    void end_capture(const Call& call);

    // For launched_calls.inc.
    template <void (UseRecorder::*take)(const Call&, std::uint8_t)>
    void use(const Call& call) {
        if (call.succeeded())
            (uses_.*take)(call, device_of(call));
    }

  private:
    bool start();
    void begin(const Call& call, live::ReportedEvent&& event);
    void end(std::uint64_t address, std::uint64_t stream, const Call& call);
    void allocate_on_stream(const Call& call, const AllocateParams& request, NumberedPool pool,
                            cuda::CUstream stream);
    void allocate_array(const Call& call, std::uint64_t handle, const Array3dDescriptor& array,
                        unsigned levels);
    std::uint8_t device_of(const Call& call) const;

    std::uint8_t gpu(int ordinal) const {
        return ordinal >= 0 && ordinal < host_ ? static_cast<std::uint8_t>(ordinal) : kNoDevice;
    }

    const Cupti& cupti_;
    const DriverQueries driver_;
    LiveRanges ranges_;
    MemoryEvents memory_;
    PhysicalMemory physical_;
    MemoryPools pools_;
    std::uint8_t host_ = 0;                        // the device behind the GPUs
    std::atomic<int> captures_ = 0;                // streams that are captured now
    std::atomic<std::uint32_t> context_ends_ = 0;  // after one, a context's address may be new
    GpuTimes times_;
    UseRecorder uses_;
};

}  // namespace tidemark::inject
