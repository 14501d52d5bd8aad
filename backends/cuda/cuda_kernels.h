// Our kernels, as PTX that the driver compiles at first use.
#pragma once

namespace tidemark::cuda {

// Adds the number of bytes of [target, target + size) that differ from `pattern`, repeated lowest
// byte first, to the 64-bit word at `counter`. Its parameters, in order: target (8 bytes, a
// multiple of 4), size (8 bytes), counter (8 bytes), pattern (4 bytes). Any grid of one dimension.
constexpr const char* kCountMismatches = "tidemark_count_mismatches";

// The module that holds it: null-terminated text.
extern const char* const kKernels;

// Runs until the GPU's clock (nanoseconds) shows at least `end` (8 bytes), and then writes the
// clock's value to the 64-bit word at `slot` (8 bytes). Parameters: slot, end. One thread.
constexpr const char* kPassUntil = "tidemark_pass";

// The module that holds that.
extern const char* const kPacingKernels;

}  // namespace tidemark::cuda
