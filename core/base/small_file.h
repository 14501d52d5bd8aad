// Small files that arguments name: descriptions, plans. Each may be a pipe as well, as a shell
// makes one of `<(...)`: it gives its bytes once, and whoever needs them again gets what was kept.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace tidemark {

// While one lives, what comes through pipes is kept for who reads the same path again. Commands are
// run with one. Thread-safe; may be nested.
class KeptPipes {
  public:
    KeptPipes();
    KeptPipes(const KeptPipes&) = delete;
    KeptPipes& operator=(const KeptPipes&) = delete;
    ~KeptPipes();
};

// All bytes of a file. Errors: not_found (there is none, with the system's reason); io, also for a
// folder; bad_input: more than `most` bytes. Reads no further than that, so a pipe without an end
// has one here. Thread-safe.
Result<std::string> read_small_file(const std::string& path, std::size_t most);

}  // namespace tidemark
