// Plot: shapes and texts on a page, in points, top left first; and the pages that we draw. A page
// is written as SVG, or as PNG with the system's Cairo, which is loaded when needed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "replay/analysis/compare/compare.h"
#include "replay/scenario/scenario.h"

namespace tidemark {

struct PlotShape {
    std::vector<std::pair<double, double>> points;
    std::string colour;  // "#3b6ea5"
    double width = 0;    // of a line through the points; 0 = the area between them
};

struct PlotText {
    enum class Anchor : std::uint8_t { begin, middle, end };

    double x = 0;
    double y = 0;  // of the base line
    std::string text;
    Anchor anchor = Anchor::begin;
    double size = 12;
    std::string colour = "#222222";
};

struct Plot {
    double width = 1080;
    double height = 0;
    std::vector<PlotShape> shapes;  // later ones are drawn over earlier ones
    std::vector<PlotText> texts;    // over all shapes
};

inline PlotShape box(double left, double top, double right, double bottom, std::string colour) {
    return {.points = {{left, top}, {right, top}, {right, bottom}, {left, bottom}},
            .colour = std::move(colour)};
}

inline PlotShape line(double x1, double y1, double x2, double y2, std::string colour,
                      double width) {
    return {.points = {{x1, y1}, {x2, y2}}, .colour = std::move(colour), .width = width};
}

// `compare`: a bar for each policy's peak of reserved memory, lowest first, and for the recorded
// run, marked as such; a group for each trace, with a line at what the program requested, and the
// range of runs if there is one.
Plot comparison_plot(const Comparison& comparison);

// `replay`: reserved, allocated and requested memory over time.
Plot run_plot(const std::string& name, const Run& run);

// The bytes depend only on the plot.
std::string plot_svg(const Plot& plot);

// Errors (unsupported): Cairo is missing.
Result<std::string> plot_png(const Plot& plot);

// As PNG if `target` ends in .png, else as SVG. Errors: those of plot_png.
Result<std::string> plot_for(const std::string& target, const Plot& plot);

}  // namespace tidemark
