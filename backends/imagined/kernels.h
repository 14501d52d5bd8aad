// Kernels: registered by the program's own code when it is loaded, launched without effect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/imagined/arithmetic.h"

namespace tidemark::imagined {

struct Kernel {
    const char* name = "";          // mangled; lives as long as the library that registered it
    bool reduces_with_and = false;  // all()
    bool sums = false;              // sum()
    bool compares_equal = false;    // ==, element by element
    bool counts_nonzero = false;    // the first half of nonzero()
    bool ends_reduction = false;    // the second of two passes
    std::optional<std::unique_ptr<const Computation>> computation;  // once it has been launched
};

// The kernel that this thread launched last, and the one before it; null if there is none.
const Kernel* last_kernel();
const Kernel* kernel_before_last();

// Of how many items the last kernel counted those that aren't zero; nothing if it didn't count.
std::optional<int> counted_items();

}  // namespace tidemark::imagined
