// CudaVisit: a call of the program's is about one of its streams.
//
// A borrowed stream (CudaDevice::borrow) is there for as long as the program's call: its handle may
// be used, on this thread. Afterwards the program may destroy it, as the contracts of CCCL, RMM and
// cuda.core allow once memory is given back. Visits nest. For other streams it does nothing.
#pragma once

#include "backends/cuda/cuda_device.h"

namespace tidemark {

struct CudaStream;

class CudaVisit {
  public:
    // `device` may be null: a simulated one has no handles. Two driver calls for a borrowed stream:
    // is it captured, is it still the same under this handle.
    CudaVisit(CudaDevice* device, StreamId stream);
    CudaVisit(const CudaVisit&) = delete;
    CudaVisit& operator=(const CudaVisit&) = delete;
    ~CudaVisit();

    // Memory is given back on `stream`: what is queued on it by now is told by a point from now on,
    // or, where `record_now` is false, by a wait for the whole device once somebody asks. An
    // event's record, for which the stream has to be the visited one, or nothing.
    void note_work(StreamId stream, bool record_now);

  private:
    CudaDevice* const device_;
    const CudaStream* before_ = nullptr;
};

}  // namespace tidemark
