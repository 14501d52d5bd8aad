// Kernels: registered by the program's own code when it is loaded, launched without effect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/imagined/arithmetic.h"
#include "backends/imagined/writes.h"

namespace tidemark::imagined {

struct Kernel {
    const char* name = "";          // mangled; valid as long as the library that registered it
    bool reduces_with_and = false;  // all()
    bool sums = false;              // sum()
    bool compares_equal = false;    // ==, element by element
    bool counts_nonzero = false;    // the first half of nonzero()
    bool ends_reduction = false;    // the second of two passes
    bool counts_distinct = false;   // unique()
    const char* first_use = "";     // see Card::first_uses
    std::uint64_t used_on = 0;      // a bit for each device
    std::size_t parameters = 0;     // this and the following are known after its first launch
    std::vector<Output> outputs;    // of a kernel that isn't computed
    std::unique_ptr<const Computation> computation;
};

// The kernel that this thread launched last, and the one before it; null if there is none.
const Kernel* last_kernel();
const Kernel* kernel_before_last();

// The count of this thread's last kernel: items that aren't zero, or that differ from the one
// before.
struct Counted {
    std::int64_t items = 0;
    bool distinct = false;
};

// Nothing if it counted nothing.
std::optional<Counted> last_count();

}  // namespace tidemark::imagined
