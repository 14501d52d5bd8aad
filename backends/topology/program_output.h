// Asking another program: what it prints, within a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// The file that a shell would run for `name`: itself if it has a '/', else the first in the folders
// of `path` (as in $PATH). "" if there is none that may be run. O(folders).
std::string find_program(std::string_view name, std::string_view path);

// Runs command[0] (a file) with the other arguments, without input, and gives what it prints on
// standard output, 1 MiB at most; what it prints on standard error is dropped. Ended with all it
// started when `limit` is over. Errors: not_found: it cannot be started; io: it failed, printed too
// much, or took too long. Thread-safe; takes `limit` and a second at most.
Result<std::string> run_program(const std::vector<std::string>& command, Nanoseconds limit);

}  // namespace tidemark
