// A configuration as text, for programs that a test starts: see Config.
#pragma once

#include <string_view>

#include "tests/backends/cuda/fake/fake_state.h"

namespace tidemark::fake {

// What the text says replaces what is in `config` and `plan`; a word that it does not know ends the
// program, since a test with another configuration than it says proves nothing.
void read_config(std::string_view text, Config& config, Plan& plan);

}  // namespace tidemark::fake
