// What others hold of a named card: the CUDA context, libraries, other processes.
#pragma once

#include "core/base/units.h"
#include "traces/model/trace.h"

namespace tidemark {

// What a process takes from a card apart from the memory that its allocator reserves: the CUDA
// context and the code of libraries. Measured on an H200 (driver 580.159, CUDA 13.0, torch 2.11,
// module loading lazy) as total - free - reserved: 527 MiB for the context alone, 619 with the
// first kernel, 685 with cuBLAS, 703 with cuDNN and attention, 767 after training steps, 941 with
// FFT, linear algebra and sorting. The default is the value after training steps.
constexpr Bytes kMeasuredOverhead = 768_MiB;

// The default for a card with `memory` bytes on which the program of `trace` runs: as much as
// others had of the recorded card, if out-of-memory events show it (replay/record/recorded_card.h;
// of several devices the most), else kMeasuredOverhead. 0 as `memory`: of the recorded card.
// O(devices).
Bytes card_overhead(const Trace& trace, Bytes memory);

}  // namespace tidemark
