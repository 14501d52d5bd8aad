// Small files that arguments name: descriptions, plans. Each may also be a pipe, as a shell makes
// one from `<(...)`: it delivers its bytes once, and later readers get what was kept.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/result.h"

namespace tidemark {

// While one exists, the bytes that pipes deliver are kept for others that read the same path again.
// Commands run with one. Thread-safe; may be nested.
class KeptPipes {
  public:
    KeptPipes();
    KeptPipes(const KeptPipes&) = delete;
    KeptPipes& operator=(const KeptPipes&) = delete;
    ~KeptPipes();
};

// All bytes of a file. Errors: not_found (with the system's reason); io, also for a folder;
// bad_input: more than `most` bytes. It reads no further than that, so a pipe without an end is cut
// there. Thread-safe.
Result<std::string> read_small_file(const std::string& path, std::size_t most);

}  // namespace tidemark
