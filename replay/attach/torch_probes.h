// The probes of a running PyTorch: `malloc` and `free` of its caching allocator for CUDA, which
// PyTorch compiles into libc10_cuda.so for x86-64 Linux.
//
// `malloc` comes after the allocation with pointer, device, requested size and stream, `free`
// before the program lets go: so a block's end comes before the next begin at its address. Memory
// that C++ code takes by raw_alloc passes neither.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/attach/probe_notes.h"

namespace tidemark::attach {

struct TorchProbes {
    std::string file;  // the library, as the kernel finds it
    // One or several of each, those of `free` first: whoever listens to them in this order misses
    // no end of a block whose begin was heard.
    std::vector<Probe> probes;

    bool is_malloc(std::uint64_t probe) const { return probes[probe].name == "malloc"; }
};

// Errors, with what to do: not_found: there is no such process; unsupported: it may not be looked
// at, is no PyTorch with CUDA, or one without these probes; those of read_probes.
Result<TorchProbes> find_torch_probes(int process);

// A variable of the environment that the process was started with; "" if there is none, or it may
// not be read.
std::string variable_of(int process, std::string_view name);

}  // namespace tidemark::attach
