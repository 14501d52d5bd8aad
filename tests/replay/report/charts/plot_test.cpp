// Plots: well-formed SVG, strange names and empty plots included; PNG where Cairo is installed.
#include "replay/report/charts/plot.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/support/text.h"

using namespace tidemark;
using support::count;

namespace {

Plot small_plot() {
    Plot plot;
    plot.height = 100;
    plot.shapes.push_back({.points = {{10, 10}, {50, 10}, {50, 40}}, .colour = "#112233"});
    plot.shapes.push_back({.points = {{0, 0}, {99, 99}}, .colour = "#445566", .width = 2});
    plot.texts.push_back({5, 20, "a<b> & \"c\" \x01 \xff"});
    return plot;
}

}  // namespace

TEST_CASE("a plot as SVG has each shape and no text that is markup", "[report][plot]") {
    const std::string svg = plot_svg(small_plot());
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(count(svg, "<polygon points=\"10.0,10.0 50.0,10.0 50.0,40.0\"") == 1);
    CHECK(count(svg, "<polyline ") == 1);
    CHECK(count(svg, "<b>") == 0);
    CHECK(std::none_of(svg.begin(), svg.end(), [](char letter) {
        return letter != '\n' && static_cast<unsigned char>(letter) < 0x20;
    }));
    CHECK(count(svg, "<!-- tidemark ") == 1);
    CHECK(svg == plot_svg(small_plot()));
}

TEST_CASE("a plot as PNG is known as ours", "[report][plot]") {
    const Result<std::string> png = plot_png(small_plot());
    if (!png) {
        CHECK(png.error().what.find("libcairo") != std::string::npos);
        WARN(png.error().what);
        return;
    }
    CHECK(png->starts_with("\x89PNG"));
    CHECK(count(*png, std::string_view("Software\0tidemark", 17)) == 1);
    Plot large = small_plot();
    large.height = 1e6;  // more rows than an image has lines: it gets smaller
    CHECK(plot_png(large).has_value());
    CHECK(plot_png(Plot{}).has_value());
}
