// What a kernel may write that isn't computed, told from the types of its parameters: what was
// known of that memory is known no longer.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "backends/imagined/contents.h"

namespace tidemark::imagined {

// A parameter through which a kernel may write: a pointer, or a structure that holds one to the
// device's memory, after so many that the kernel reads. PyTorch's iterators and lambdas have none
// before it, but for a few.
struct Output {
    std::size_t parameter = 0;
    bool is_pointer = false;
    std::size_t pointers_before = 0;
};

// Of the types of a kernel's parameters. O(their length).
std::vector<Output> outputs_of(const std::vector<std::string_view>& parameters);

// Of a launch with so many `arguments`: what each output belongs to. A structure is looked into
// only where it lies on this thread's stack, which ends somewhere. O(outputs * log(allocations)).
void forget_outputs(const std::vector<Output>& outputs, void** arguments, std::size_t count,
                    Contents& contents);

}  // namespace tidemark::imagined
