// Probes that a library was compiled with (USDT, <sys/sdt.h>): where in the file each one is, and
// where its arguments are when the program reaches it. Pure; the file may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tidemark::attach {

struct Probe {
    std::string provider;
    std::string name;
    std::string arguments;        // as probe_argument.h reads them
    std::uint64_t location = 0;   // of its instruction in the file
    std::uint64_t semaphore = 0;  // of the counter of listeners, in the file; 0 = none
};

// Those of a 64-bit ELF file for x86-64, in the order of its notes; none where it has none. `path`
// names it in errors. Errors: bad_input: it is no such file, or one that contradicts itself;
// unsupported: for another kind of processor. O(bytes of the notes and sections).
Result<std::vector<Probe>> read_probes(std::span<const std::byte> file, const std::string& path);

}  // namespace tidemark::attach
