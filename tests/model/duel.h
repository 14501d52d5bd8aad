// Duel: one program on the slow model and on the `torch` policy, each on its own device of the same
// kind, compared after every step: what was granted or why not, what was done to the device, usage
// and counters; and from time to time all that is held.
#pragma once

#include <optional>
#include <string>

#include "tests/model/coverage.h"
#include "tests/model/torch_program.h"

namespace tidemark::model {

// Where the two first differed, and how.
struct Difference {
    std::size_t step = 0;
    std::string text;
};

// Runs the program, then lets go of everything; adds to `coverage` what happened.
std::optional<Difference> duel(const DuelProgram& program, Coverage& coverage);

// A program as short as can be made in `attempts` that still ends in a difference.
DuelProgram shrink(const DuelProgram& program, std::size_t attempts);

// The difference as text, with the program that leads to it, shrunk: "" if there is none.
std::string describe_difference(const DuelProgram& program, Coverage& coverage);

}  // namespace tidemark::model
