// The window's key codes as the shell's keys. Letters depend on what is printed on them, signs on
// what they type, so that "?" and "/" work on every layout.
#pragma once

#include <optional>

#include "viz/shell/keys.h"

namespace tidemark::viz {

// For a key that went down, by GLFW's code, scan code and modifiers. nullopt: none of ours, or one
// that typed_key() reports.
std::optional<KeyPress> pressed_key(int code, int scancode, int modifiers);

// For a sign that was typed: the punctuation that we have keys for.
std::optional<KeyPress> typed_key(unsigned sign);

}  // namespace tidemark::viz
