// Exit codes: what each one means, defined once. `tidemark --help` prints this
// table, and a test holds README and docs/guide against it. Plain values.
#pragma once

#include <array>
#include <string_view>

#include "core/base/result.h"

namespace tidemark {

enum class ExitCode : int {
    yes = 0,
    no = 1,
    bad_usage = 2,
    bad_input = 3,
    out_of_memory = 4,
    not_possible = 5,
    nothing_to_compare = 6,
    interrupted = 130,  // by the shell's convention: 128 + SIGINT
};

struct ExitCodeInfo {
    ExitCode code;
    std::string_view meaning;
};

constexpr std::array<ExitCodeInfo, 8> kExitCodes{{
    {ExitCode::yes, "done; where there was a question, the answer is yes"},
    {ExitCode::no, "the answer is no: a difference, a hazard, no room, a broken budget, or a lack"},
    {ExitCode::bad_usage, "wrong usage: an unknown command, option, policy or value"},
    {ExitCode::bad_input, "bad input: a file that cannot be read, understood or written"},
    {ExitCode::out_of_memory,
     "out of memory: replay's policy could not serve what the recorded one did"},
    {ExitCode::not_possible, "not possible here: a file, device or policy lacks what is needed"},
    {ExitCode::nothing_to_compare,
     "nothing to compare: verify's trace holds no decisions, as a snapshot without a history"},
    {ExitCode::interrupted, "interrupted"},
}};

// How a command ends that failed with an error of this kind.
constexpr ExitCode exit_code_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_option:
            return ExitCode::bad_usage;
        case ErrorCode::bad_input:
        case ErrorCode::not_found:
        case ErrorCode::io:
        case ErrorCode::no_space:
            return ExitCode::bad_input;
        case ErrorCode::driver:
        case ErrorCode::unsupported:
            return ExitCode::not_possible;
        case ErrorCode::cancelled:
            return ExitCode::interrupted;
    }
    return ExitCode::bad_input;
}

}  // namespace tidemark
