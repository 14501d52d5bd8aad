// The library that the CUDA driver loads into recorded programs (replay/inject).
#pragma once

#include <string>

#include "core/base/result.h"

namespace tidemark::commands {

// Its path: next to the built program, or where it is installed. Errors (unsupported): it
// is missing; or CUDA_INJECTION64_PATH has another tool loaded in its stead.
Result<std::string> find_recorder_library();

// Errors (unsupported): another tool has set the variable, which names one library.
Result<void> check_unset(const char* variable);

}  // namespace tidemark::commands
