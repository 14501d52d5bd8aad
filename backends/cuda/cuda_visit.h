// CudaVisit: a call of the program that is about one of its streams.
//
// A borrowed stream (CudaDevice::borrow) exists during the program's call: its handle may be used,
// on this thread. Afterwards the program may destroy it, as the contracts of CCCL, RMM and
// cuda.core allow once memory is freed. Visits nest. For other streams it does nothing.
#pragma once

#include "backends/cuda/cuda_device.h"

namespace tidemark {

struct CudaStream;

class CudaVisit {
  public:
    // `device` may be null: a simulated one has no handles. Two driver calls for a borrowed stream:
    // is it captured, and is it still the same one with this handle.
    CudaVisit(CudaDevice* device, StreamId stream);
    CudaVisit(const CudaVisit&) = delete;
    CudaVisit& operator=(const CudaVisit&) = delete;
    ~CudaVisit();

    // Memory is freed on `stream`. From now on a point covers what is queued on it by now or, if
    // `record_now` is false, a wait for the whole device does once somebody asks. Costs an event's
    // record, for which the stream has to be the visited one, or nothing.
    void note_work(StreamId stream, bool record_now);

  private:
    CudaDevice* const device_;
    const CudaStream* before_ = nullptr;
};

}  // namespace tidemark
