// Kernels of ours, as PTX that the driver compiles at first use.
#pragma once

namespace tidemark::cuda {

// Adds the number of bytes of [target, target + size) that differ from `pattern`, repeated lowest
// byte first, to the 64-bit word at `counter`. Its parameters, in order: target (8 bytes, a
// multiple of 4), size (8 bytes), counter (8 bytes), pattern (4 bytes). Any grid of one dimension.
constexpr const char* kCountMismatches = "tidemark_count_mismatches";

// The module that holds it: null-terminated text.
extern const char* const kKernels;

}  // namespace tidemark::cuda
