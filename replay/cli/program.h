// The program `tidemark` without its process: a command line becomes output and an exit code, for
// main() as well as for the C library.
#pragma once

#include <span>
#include <string>

#include "core/base/result.h"
#include "replay/cli_support/exit_codes.h"
#include "replay/cli_support/front.h"

namespace tidemark {

struct ProgramAnswer {
    std::string output;  // for standard output
    ExitCode code = ExitCode::yes;
};

// Runs the command that `arguments` (without the program's name) ask for. Thread-safe: several may
// run at once, each with a front of its own, if none owns the process. Throws what libraries throw.
// Errors: those of the command.
Result<ProgramAnswer> run_program(std::span<const std::string> arguments, Front& front);

// `tidemark` with these arguments, as a shell would take it. Pure.
std::string command_line(std::span<const std::string> arguments);

}  // namespace tidemark
