// libnuma, loaded if it is installed: the two calls that place pages and find them, declared here
// so that neither its header is needed to build nor the library to run.
//
// The library stays loaded as long as the program runs. Thread-safe.
#pragma once

#include <string>

#include "core/base/result.h"

namespace tidemark {

// The functions of libnuma that are used, with the kernel's meaning (mbind(2), move_pages(2)).
struct NumaCalls {
    int (*numa_available)() = nullptr;  // below 0: this kernel has none
    long (*mbind)(void* address, unsigned long length, int mode, const unsigned long* nodes,
                  unsigned long bits, unsigned flags) = nullptr;
    long (*move_pages)(int process, unsigned long count, void** pages, const int* nodes,
                       int* status, int flags) = nullptr;
};

// Loads `library` ("": TIDEMARK_NUMA_LIBRARY if that is set, else libnuma.so.1). Errors
// (unsupported): no such library, a function that it lacks, a kernel without NUMA.
Result<NumaCalls> load_numa(const std::string& library = "");

}  // namespace tidemark
