// Settings: a user's last choices for the window: kept in a file of theirs, lines of "name =
// value". Only the window uses it: pictures, tables, browsers and tests never read it.
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

// What is missing has its default. Errors: bad_input, with the line that is wrong.
Result<ViewSettings> parse_settings(std::string_view text);
std::string settings_text(const ViewSettings& settings);

// The defaults where there is no file. Errors: io; those of parse_settings; with the path.
Result<ViewSettings> read_settings(const std::string& path);

// Keeps what differs in `now` from `before`; the rest of the file stays, so that two windows keep
// each other's choices. Makes the folder. Errors: those of read_settings, where an invalid file is
// left as it is; io.
Result<void> keep_settings(const std::string& path, const ViewSettings& before,
                           const ViewSettings& now);

}  // namespace tidemark::viz
