// Variables of colours.
#include "replay/report/page/page_style.h"

#include <fmt/format.h>

#include "replay/report/forms/theme.h"
#include "replay/report/page/page_files.h"

namespace tidemark::report {
namespace {

std::string variables(const Theme& theme) {
    struct Variable {
        const char* name;
        Colour colour;
    };

    const Variable all[] = {{"ground", theme.ground},       {"panel", theme.panel},
                            {"plot", theme.plot},           {"grid", theme.grid},
                            {"border", theme.border},       {"text", theme.text},
                            {"faint", theme.faint_text},    {"accent", theme.accent},
                            {"allocated", theme.allocated}, {"used", theme.used},
                            {"waiting", theme.active},      {"requested", theme.requested},
                            {"cached", theme.cached},       {"fragmentation", theme.fragmentation},
                            {"rounding", theme.rounding},   {"warning", theme.warning},
                            {"problem", theme.problem},     {"better", theme.better},
                            {"worse", theme.worse}};
    std::string text;
    for (const Variable& each : all)
        text += fmt::format("  --{}: {};\n", each.name, css(each.colour));
    for (std::size_t run = 0; run < kRunColours; ++run)
        text += fmt::format("  --run{}: {};\n", run, css(run_colour(theme, run, 0)));
    return text;
}

}  // namespace

std::string style_markup() {
    return fmt::format(
        ":root {{\n{}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{\n{}}} }}\n{}",
        variables(light_theme()), variables(dark_theme()), page_style());
}

}  // namespace tidemark::report
