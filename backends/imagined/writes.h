// What a kernel that isn't computed may write, inferred from the types of its parameters: that
// memory's content becomes unknown.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "backends/imagined/contents.h"

namespace tidemark::imagined {

// A parameter through which a kernel may write: a pointer, or a structure that contains one to the
// device's memory, after this many that the kernel reads. PyTorch's iterators and lambdas have none
// before it, with a few exceptions.
struct Output {
    std::size_t parameter = 0;
    bool is_pointer = false;
    std::size_t pointers_before = 0;
};

// For the types of a kernel's parameters. O(their length).
std::vector<Output> outputs_of(const std::vector<std::string_view>& parameters);

// For a launch with this many `arguments`: which allocation each output belongs to. It looks into a
// structure only if it is on this thread's stack, which ends somewhere. O(outputs *
// log(allocations)).
void forget_outputs(const std::vector<Output>& outputs, void** arguments, std::size_t count,
                    Contents& contents);

}  // namespace tidemark::imagined
