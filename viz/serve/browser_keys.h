// Keys by the names that browsers give them (KeyboardEvent.key), as the shell's keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "viz/serve/browser_events.h"
#include "viz/shell/keys.h"

namespace tidemark::viz {

// The press for shortcuts: letters without case, signs as they are typed. nullopt: none of ours.
std::optional<KeyPress> press_of(const BrowserKey& event);

// What the key writes into a text: one character in UTF-8, or nothing.
std::string_view typed_text(const BrowserKey& event);

}  // namespace tidemark::viz
