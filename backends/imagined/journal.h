// The journal: what a run asked that a card would have answered otherwise, or that is not known
// here. Lines of JSON, so that a run that dies loses nothing. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tidemark::imagined {

// A function without an implementation was called: it did nothing ("quiet"), or failed ("refused").
void note_unknown(std::string_view name, bool refused);

// This process uses the GPU: a script may start others.
void note_process();

// Where the program is, for people: asks Python, where it runs. `kind` is "read", "nonzero" or
// "unique" (a read of how many were found), "refused". Python's answer: nonzero if it wrote into
// `bytes` what the read finds.
using Witness = int (*)(const char* kind, const char* what, void* bytes, std::size_t size,
                        int known);

// Asks whoever has registered; false if nobody has, or they leave the answer as it is.
bool ask_witness(const char* kind, const char* what, void* bytes, std::size_t size, bool known);

}  // namespace tidemark::imagined
