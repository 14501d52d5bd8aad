// What the kernels that the fake knows do.
#pragma once

#include <functional>
#include <string_view>

#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {

// The work of a kernel of that name with these parameters on a device; empty if it isn't known.
// Known are those of backends/cuda/cuda_kernels.h and tidemark_test_write
// (address: 8 bytes, value: 4 bytes), which writes the value there.
std::function<Code()> kernel_work(std::string_view name, void** parameters, int device);

}  // namespace tidemark::fake
