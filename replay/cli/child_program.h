// ChildProgram: another program, run in the terminal that is ours: it has our input and output,
// gets the signals that are sent to us alone, and its exit code is the answer.
#pragma once

#include <span>
#include <string>

#include "core/base/result.h"

namespace tidemark {

// Runs `program` (the program, found as a shell finds it, and its arguments) with our environment,
// and waits for its end. Returns its exit code, or 128 + the signal that ended it. Meanwhile
// signals that end a program don't end us: those of the terminal have reached it too, others are
// passed on. One at a time. Errors: not_found, io: it cannot be started; its code is 127 or 126 for
// shells.
Result<int> run_child_program(std::span<const std::string> program);

}  // namespace tidemark
