// ViewCommand: the command line of `tidemark-view`, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "traces/io/output_target.h"
#include "viz/headless/offscreen.h"
#include "viz/model/navigation/loader.h"

namespace tidemark::viz {

// `--serve`: in browsers instead of a window.
struct ServeRequest {
    std::optional<std::uint16_t> port;  // none: not requested; 0: a free one
    std::string address = "127.0.0.1";
    std::vector<std::string> hosts;
    bool ends_with_input = false;
};

struct ViewCommand {
    LoadRequest load;
    std::vector<std::string> attach;  // live programs: process numbers or names
    std::vector<std::string> views;
    std::string location;
    std::string find;
    bool dark = true;
    bool theme_given = false;  // --theme is given: it takes precedence over the settings
    bool no_settings = false;  // the window neither reads nor keeps them
    std::uint32_t width = 1600;
    std::uint32_t height = 900;
    float scale = 0;       // of all lengths; 0 = the monitor's
    OutputTarget png;      // a picture instead of a window; empty: a window
    OutputTarget animate;  // an animation instead of one
    OutputTarget csv;      // the rows of the first view's table instead of one
    OutputTarget figures;  // of all runs, as JSON, instead of one
    ServeRequest serve;

    // For our own tests and measurements; not in --help.
    OutputTarget state_to;       // the shell's state after every frame that changed it, as lines
    OutputTarget screenshot_to;  // the last frame of the window, read back
    bool built_in_font = false;
    bool bench = false;
    bool json = false;
    bool window_bench = false;  // through the real window
    bool quits_when_drawn = false;
};

// What to print instead of doing anything: --help, --version.
struct Answer {
    std::string text;
};

// Errors (bad_option): the wrong word, and how to correct it.
Result<std::variant<ViewCommand, Answer>> read_view_command(std::span<char* const> argv);

// "1600x900". Errors: bad_option.
struct PixelSize {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
};

Result<PixelSize> parse_size(const std::string& text);

}  // namespace tidemark::viz
