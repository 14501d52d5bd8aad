// Writing files, and reporting what was written, for the commands that do.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "replay/cli/command.h"
#include "replay/report/charts/plot.h"

namespace tidemark {

// Fills in the sizes of the files and prints what was written, as JSON or as a line for each file.
// Nothing is printed in text form when a file went to standard output: the bytes are there already.
void report_written(Context& context, std::span<WrittenFile> files, bool json);

// Writes a file whole or not at all. `synced` as OutputFile::commit has it. Errors: io.
Result<void> write_whole(const std::string& target, std::string_view content, bool synced = true);

// Of a file that an option names, before long files are read: "" or one with either ending. Errors
// (bad_option): it has another.
Result<void> check_ending(const std::string& target, const std::string& option,
                          std::string_view one, std::string_view other);

// The same of --plot: .svg or .png.
Result<void> check_plot(const std::string& target);

// Draws and writes it; nothing if `target` is "". Errors: io, and those of plot_for.
Result<void> write_plot(const std::string& target, const std::function<Plot()>& draw);

// Errors (bad_option): `json` and standard output as the target.
Result<void> allow_report(const std::string& target, bool json);

}  // namespace tidemark
