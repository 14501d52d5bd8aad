// The fake CUPTI's activity records: when the GPU, which does nothing, ran what was launched.
#pragma once

#include <cstdint>

namespace tidemark::cuda {

// The GPU runs a kernel (kind 10, named), a copy (1) or a fill (2) that call `correlation`
// launched; nothing where nobody asked for records.
void run_on_gpu(int kind, std::uint32_t correlation, const char* name);

}  // namespace tidemark::cuda
