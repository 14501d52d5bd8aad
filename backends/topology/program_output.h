// Running another program, and reading what it prints within a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace tidemark {

// The file that a shell would run for `name`: itself if it has a '/', else the first one in the
// folders of `path` (as in $PATH). "" if there is no executable one. O(folders).
std::string find_program(std::string_view name, std::string_view path);

// Runs command[0] (a file) with the other arguments, without input, and returns its standard
// output, at most 1 MiB; its standard error is dropped. When `limit` is over, it is ended with
// everything that it started. Errors: not_found: it cannot be started; io: it failed, printed too
// much, or took too long. Thread-safe; takes at most `limit` and a second.
Result<std::string> run_program(const std::vector<std::string>& command, Nanoseconds limit);

}  // namespace tidemark
