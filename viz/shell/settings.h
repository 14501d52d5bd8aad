// Settings: how a user last had the window look: kept in a file of theirs, lines of "name = value".
// The window's business alone: pictures, tables, browsers and tests never read it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "viz/model/session/session.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

struct ViewSettings {
    bool dark = true;
    ColourBy colour_by = ColourBy::tag;
    StackLook stacks;
};

bool operator==(const ViewSettings& a, const ViewSettings& b);

ViewSettings settings_of(Shell& shell);
void apply(const ViewSettings& settings, Shell& shell);

// $XDG_CONFIG_HOME/tidemark/view.conf, or that below ~/.config; empty where there is neither.
std::string settings_path();

// What isn't said is the default. Errors: bad_input, with the line that is wrong.
Result<ViewSettings> parse_settings(std::string_view text);
std::string settings_text(const ViewSettings& settings);

// The defaults where there is no file. Errors: io; those of parse_settings; with the path.
Result<ViewSettings> read_settings(const std::string& path);

// Keeps what is another in `now` than it was in `before`; the rest of the file stays, so that two
// windows keep each other's. Makes the folder. Errors: those of read_settings: a file that isn't
// understood is left as it is; io.
Result<void> keep_settings(const std::string& path, const ViewSettings& before,
                           const ViewSettings& now);

}  // namespace tidemark::viz
