// A plot as text.
#include <fmt/format.h>

#include "replay/report/charts/plot.h"
#include "replay/report/forms/escaped.h"

namespace tidemark {
namespace {

std::string_view anchor_text(PlotText::Anchor anchor) {
    switch (anchor) {
        case PlotText::Anchor::begin:
            return "start";
        case PlotText::Anchor::middle:
            return "middle";
        case PlotText::Anchor::end:
            return "end";
    }
    return "start";
}

std::string shape_text(const PlotShape& shape) {
    std::string points;
    for (const auto& [x, y] : shape.points)
        points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x, y);
    if (shape.width > 0)
        return fmt::format(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:.1f}\"/>\n",
            points, shape.colour, shape.width);
    return fmt::format("<polygon points=\"{}\" fill=\"{}\"/>\n", points, shape.colour);
}

}  // namespace

std::string plot_svg(const Plot& plot) {
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\">\n<!-- tidemark plot -->\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        plot.width, plot.height);
    for (const PlotShape& shape : plot.shapes)
        text += shape_text(shape);
    for (const PlotText& each : plot.texts)
        text += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\" text-anchor=\"{}\" "
            "fill=\"{}\">{}</text>\n",
            each.x, each.y, each.size, anchor_text(each.anchor), each.colour,
            report::escaped(each.text));
    return text + "</svg>\n";
}

Result<std::string> plot_for(const std::string& target, const Plot& plot) {
    if (target.ends_with(".png"))
        return plot_png(plot);
    return plot_svg(plot);
}

}  // namespace tidemark
