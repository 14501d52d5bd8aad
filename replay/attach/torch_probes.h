// The probes of a running PyTorch: `malloc` and `free` of its caching allocator for CUDA, which
// PyTorch compiles into libc10_cuda.so for x86-64 Linux.
//
// `malloc` fires after the allocation, with pointer, device, requested size and stream; `free`
// fires before the block is freed. So a block's end comes before the next start at its address.
// Memory that C++ code allocates by raw_alloc passes neither.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/attach/probe_notes.h"

namespace tidemark::attach {

struct TorchProbes {
    std::string file;  // the library, as the kernel finds it
    // One or several of each, those of `free` first: a listener that attaches in this order sees
    // the end of every block whose start it saw.
    std::vector<Probe> probes;

    bool is_malloc(std::uint64_t probe) const { return probes[probe].name == "malloc"; }
};

// Errors, with what to do: not_found: there is no such process; unsupported: no permission to
// examine it, or it does not use PyTorch with CUDA, or a PyTorch without these probes; those of
// read_probes.
Result<TorchProbes> find_torch_probes(int process);

// A variable of the environment that the process was started with; "" if there is none, or it may
// not be read.
std::string variable_of(int process, std::string_view name);

}  // namespace tidemark::attach
