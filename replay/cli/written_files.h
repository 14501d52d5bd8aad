// Writing files, and telling what was written, for the commands that do.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "replay/cli/command.h"

namespace tidemark {

// Size of a file just written; 0 for standard output. O(1).
std::uint64_t written_bytes(const std::string& target);

// Tells what was written, as JSON or as a line for each file. Nothing is printed in text form when
// a file went to standard output: the bytes are there already.
void report_written(Context& context, std::span<const WrittenFile> files, bool json);

// Writes a file whole or not at all. Errors: io.
Result<void> write_whole(const std::string& target, std::string_view content);

// Errors (bad_option): `json` and standard output as the target.
Result<void> allow_report(const std::string& target, bool json);

}  // namespace tidemark
