// Colours can be read and told apart.
#include "viz/draw/theme.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include <catch2/catch.hpp>

namespace tidemark::viz {
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

}  // namespace

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

TEST_CASE("neighbouring categories are never alike") {
    const Theme& theme = GENERATE(as<const Theme*>{}, &dark_theme(), &light_theme())[0];
    std::set<Colour> seen;
    for (std::size_t i = 0; i < 24; ++i) {
        const Colour colour = category(theme, i);
        CHECK(colour >> 24 == 0xff);
        CHECK(contrast(colour, theme.plot) > 1.4);
        CHECK(seen.insert(colour).second);
        CHECK(category(theme, i + 24) == colour);
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

TEST_CASE("mixing runs from one colour to the other and stays opaque") {
    CHECK(mix(rgb(0x000000), rgb(0xffffff), 0) == rgb(0x000000));
    CHECK(mix(rgb(0x000000), rgb(0xffffff), 1) == rgb(0xffffff));
    CHECK(mix(rgb(0x102030), rgb(0x304050), 0.5) == rgb(0x203040));
    CHECK(mix(0, 0, 0.5) >> 24 == 0xff);
    CHECK(rgb(0x112233) == 0xff332211U);
}

}  // namespace tidemark::viz
