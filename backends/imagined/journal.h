// The journal: requests of a run that a real GPU would have answered differently, or whose answer
// is not known here. Lines of JSON, so that a run that dies loses nothing. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark::imagined {

// A function without an implementation was called: it did nothing ("quiet"), or failed ("refused").
void note_unknown(std::string_view name, bool refused);

// This process uses the GPU: a script may start others.
void note_process();

// The program's current location, for people: asks Python, if it is running. `kind` is "read",
// "nonzero" or "unique" (a read of how many were found), "refused". Python's answer: nonzero if it
// wrote into `bytes` what the read finds.
using Witness = int (*)(const char* kind, const char* what, void* bytes, std::size_t size,
                        int known);

// Asks the registered function; false if there is none, or if it leaves the answer unchanged.
bool ask_witness(const char* kind, const char* what, void* bytes, std::size_t size, bool known);

}  // namespace tidemark::imagined
