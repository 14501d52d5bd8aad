// Writing files, and reporting what was written, for the commands that do.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "replay/cli/command.h"
#include "replay/report/charts/plot.h"
#include "traces/io/output_target.h"

namespace tidemark {

// Fills in the sizes of the files and prints what was written, as JSON or as a line for each file.
// Nothing is printed in text form when a file went to standard output: the bytes are there already.
void report_written(Context& context, std::span<WrittenFile> files, bool json);

// Writes a file whole or not at all. `synced` as OutputFile::commit has it. Errors: those of
// OutputFile.
Result<void> write_whole(const OutputTarget& target, std::string_view content, bool synced = true);

// Of a file that an option names, before long files are read: "" or one with any of the endings.
// Errors (bad_option): it has another.
Result<void> check_ending(const std::string& target, const std::string& option,
                          std::initializer_list<std::string_view> endings);

// The same of --plot: .svg or .png.
Result<void> check_plot(const std::string& target);

// The kind of such a file.
FileKind plot_kind(const std::string& target);

// Draws and writes it; nothing without a `target`. Errors: those of write_whole and plot_for.
Result<void> write_plot(const OutputTarget& target, const std::function<Plot()>& draw);

// Errors (bad_option): `json` and standard output as the target.
Result<void> allow_report(const std::string& target, bool json);

}  // namespace tidemark
