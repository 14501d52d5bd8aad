// Colours can be read and told apart.
#include "replay/report/forms/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace tidemark {
namespace {

double part(Colour colour, unsigned shift) {
    const double share = static_cast<double>(colour >> shift & 0xffU) / 255;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
}

double luminance(Colour colour) {
    return 0.2126 * part(colour, 0) + 0.7152 * part(colour, 8) + 0.0722 * part(colour, 16);
}

// As the Web Content Accessibility Guidelines have it.
double contrast(Colour a, Colour b) {
    const double one = luminance(a) + 0.05;
    const double other = luminance(b) + 0.05;
    return one > other ? one / other : other / one;
}

// CIE lightness, 0 to 100.
double lightness(Colour colour) {
    const double y = luminance(colour);
    return y <= 216.0 / 24389 ? y * 24389 / 27 : 116 * std::cbrt(y) - 16;
}

// Linear light as people see it who lack a kind of cone: Machado, Oliveira and Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency" (2009).
using Sight = std::array<std::array<double, 3>, 3>;
constexpr Sight kSights[] = {
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
};

// In Oklab, whose distances are about even to the eye; 0 to 100.
std::array<double, 3> seen(Colour colour, const Sight& sight) {
    const double light[] = {part(colour, 0), part(colour, 8), part(colour, 16)};
    double to[3];
    for (std::size_t i = 0; i < 3; ++i)
        to[i] = std::clamp(sight[i][0] * light[0] + sight[i][1] * light[1] + sight[i][2] * light[2],
                           0.0, 1.0);
    const double l = std::cbrt(0.4122214708 * to[0] + 0.5363325363 * to[1] + 0.0514459929 * to[2]);
    const double m = std::cbrt(0.2119034982 * to[0] + 0.6806995451 * to[1] + 0.1073969566 * to[2]);
    const double s = std::cbrt(0.0883024619 * to[0] + 0.2817188376 * to[1] + 0.6299787005 * to[2]);
    return {100 * (0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s),
            100 * (1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s),
            100 * (0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s)};
}

double apart(Colour a, Colour b, const Sight& sight) {
    const auto one = seen(a, sight);
    const auto other = seen(b, sight);
    return std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
}

}  // namespace

TEST_CASE("the gaps between the curves look different to everybody") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    for (const Sight& sight : kSights) {
        CAPTURE(theme.dark, &sight - kSights);
        for (const Colour other : {theme.cached, theme.rounding, theme.active, theme.allocated,
                                   theme.problem, theme.plot})
            CHECK(apart(theme.fragmentation, other, sight) > 11);
        CHECK(apart(theme.fragmentation, theme.used, sight) > 25);
        CHECK(apart(theme.cached, theme.used, sight) > 25);
        CHECK(apart(theme.rounding, theme.used, sight) > 11);
        CHECK(apart(theme.cached, theme.rounding, sight) > 8);
        CHECK(apart(theme.cached, theme.plot, sight) > 6);
        CHECK(apart(theme.rounding, theme.allocated, sight) > 15);
    }
}

TEST_CASE("what is wasted stands out from every ground and from what is used") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    CAPTURE(theme.dark);
    for (const Colour waste : {theme.cached, theme.fragmentation, theme.rounding}) {
        for (const Colour other : {theme.ground, theme.panel, theme.plot})
            CHECK(contrast(waste, other) >= 3);
        if (waste != theme.rounding || !theme.dark)
            CHECK(contrast(waste, theme.used) >= 3);
    }
    // What is used is calmer than any of it, but there.
    for (const Colour waste : {theme.cached, theme.fragmentation})
        CHECK(contrast(theme.used, theme.plot) < contrast(waste, theme.plot) / 2);
    CHECK(contrast(theme.used, theme.plot) > 1.4);
}

TEST_CASE("text can be read on every ground, in both themes") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    const Colour ground = GENERATE_REF(theme.ground, theme.panel, theme.plot);
    CAPTURE(theme.dark, ground);
    CHECK(contrast(theme.text, ground) >= 7);
    for (const Colour colour :
         {theme.faint_text, theme.accent, theme.warning, theme.problem, theme.better, theme.worse})
        CHECK(contrast(colour, ground) >= 4.5);
    CHECK(contrast(theme.cursor, ground) >= 4.5);
    // Curves and marks are no text: 3 is enough.
    for (const Colour colour : {theme.allocated, theme.reserved, theme.requested, theme.active,
                                theme.host, theme.disk, theme.selection})
        CHECK(contrast(colour, ground) >= 2.9);
}

TEST_CASE("the first 14 categories look different to everybody") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    for (const Sight& sight : kSights) {
        CAPTURE(theme.dark, &sight - kSights);
        for (std::size_t i = 0; i < 14; ++i) {
            const Colour colour = category(theme, i);
            CAPTURE(i);
            for (std::size_t other = 0; other < i; ++other) {
                CAPTURE(other);
                CHECK(apart(colour, category(theme, other), sight) > 10);
                CHECK(apart(calm(theme, colour), calm(theme, category(theme, other)), sight) > 5);
            }
            for (const Colour waste : {theme.cached, theme.fragmentation})
                CHECK(apart(colour, waste, sight) > 7);
        }
    }
}

TEST_CASE("a colour of data has one meaning") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    const std::vector<Colour> data{theme.reserved, theme.allocated,     theme.used,
                                   theme.active,   theme.requested,     theme.cached,
                                   theme.rounding, theme.fragmentation, theme.host,
                                   theme.disk,     theme.selection,     theme.plot};
    CAPTURE(theme.dark);
    for (std::size_t i = 0; i < data.size(); ++i)
        for (std::size_t other = 0; other < i; ++other) {
            CAPTURE(i, other);
            CHECK(apart(data[i], data[other], kSights[0]) > 7);
        }
}

TEST_CASE("other runs' lines are like no curve of the run that is shown") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    CHECK(run_colour(theme, 3, 3) == theme.reserved);
    for (std::size_t run = 1; run < 8; ++run) {
        CAPTURE(theme.dark, run);
        const Colour colour = run_colour(theme, run, 0);
        CHECK(contrast(colour, theme.plot) >= 3);
        for (std::size_t other = 1; other < run; ++other)
            for (const Sight& sight : kSights)
                CHECK(apart(colour, run_colour(theme, other, 0), sight) > 10);
        for (const Colour curve :
             {theme.reserved, theme.allocated, theme.active, theme.requested, theme.used})
            for (const Sight& sight : kSights)
                CHECK(apart(colour, curve, sight) > 3.4);
    }
}

TEST_CASE("neighbouring categories never look the same") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    std::set<Colour> seen;
    for (std::size_t i = 0; i < 42; ++i) {
        const Colour colour = category(theme, i);
        CHECK(colour >> 24 == 0xff);
        CHECK(contrast(colour, theme.plot) > 1.3);
        CHECK(seen.insert(colour).second);
        CHECK(category(theme, i + 42) == colour);
    }
}

TEST_CASE("the ramp gets lighter by the same amount at every step") {
    const double first = lightness(ramp(0));
    const double last = lightness(ramp(1));
    CHECK(first < 25);
    CHECK(last > 85);
    for (int i = 1; i <= 16; ++i) {
        const double here = lightness(ramp(i / 16.0));
        const double step = here - lightness(ramp((i - 1) / 16.0));
        CHECK(step == Approx((last - first) / 16).margin(1.3));
    }
    CHECK(ramp(-3) == ramp(0));
    CHECK(ramp(7) == ramp(1));
    CHECK(ramp(std::nan("")) == ramp(0));
}

TEST_CASE("a colour as style sheets take it") {
    CHECK(css(rgb(0x0a72b2)) == "#0a72b2");
}

TEST_CASE("mixing runs from one colour to the other and stays opaque") {
    CHECK(mix(rgb(0x000000), rgb(0xffffff), 0) == rgb(0x000000));
    CHECK(mix(rgb(0x000000), rgb(0xffffff), 1) == rgb(0xffffff));
    CHECK(mix(rgb(0x102030), rgb(0x304050), 0.5) == rgb(0x203040));
    CHECK(mix(0, 0, 0.5) >> 24 == 0xff);
    CHECK(rgb(0x112233) == 0xff332211U);
}

}  // namespace tidemark
