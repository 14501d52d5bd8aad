// The two themes, the row of category colours and the ramp.
#include "replay/report/forms/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tidemark {
namespace {

// Okabe and Ito's, by their names.
constexpr Colour kBlue = rgb(0x0072b2);
constexpr Colour kOrange = rgb(0xe69f00);
constexpr Colour kGreen = rgb(0x009e73);
constexpr Colour kPurple = rgb(0xcc79a7);
constexpr Colour kSky = rgb(0x56b4e9);
constexpr Colour kYellow = rgb(0xf0e442);

// Sky blue vanishes on a light ground, so it is darker there.
constexpr Colour kDeepSky = rgb(0x2f8fca);

// Found by a search: 14 colours of moderate strength that stand out from the plot and aren't close
// to a colour of waste, chosen so that the two most similar ones differ as much as possible for
// whichever of the four kinds of sight in theme_test.cpp sees the least difference. Ordered so that
// the first few differ most.
constexpr std::size_t kHues = 14;
using Hues = std::array<Colour, kHues>;
constexpr Hues kDarkHues = {rgb(0x536bd9), rgb(0xc2f6ad), rgb(0x893000), rgb(0xb98600),
                            rgb(0x0facba), rgb(0x0048a8), rgb(0x99c2ff), rgb(0x5f4368),
                            rgb(0xc14142), rgb(0xd0c08f), rgb(0x935d95), rgb(0x11ffff),
                            rgb(0xa288ff), rgb(0xf26a87)};
constexpr Hues kLightHues = {rgb(0x2f778c), rgb(0xddad00), rgb(0x3e1849), rgb(0x0ac5ff),
                             rgb(0x900600), rgb(0x443daa), rgb(0xac8cb2), rgb(0x6892ff),
                             rgb(0x633e5d), rgb(0x9c524d), rgb(0x141782), rgb(0xd48047),
                             rgb(0x845cce), rgb(0x9dbf98)};

// Of these, those that can be a line among the curves of another run: 3 : 1 against the plot, and
// unlike reserved, allocated, active and requested.
constexpr std::array<std::size_t, 8> kDarkLines{11, 8, 1, 12, 6, 9, 13, 10};
constexpr std::array<std::size_t, 8> kLightLines{4, 12, 2, 9, 5, 8, 10, 11};

unsigned channel(Colour colour, unsigned shift) {
    return colour >> shift & 0xffU;
}

Theme make_dark() {
    Theme theme{};
    theme.dark = true;
    theme.ground = rgb(0x16181c);
    theme.panel = rgb(0x1d2025);
    theme.plot = rgb(0x111316);
    theme.grid = rgb(0x2a2e35);
    theme.border = rgb(0x3a3f48);
    theme.text = rgb(0xe8eaed);
    theme.faint_text = rgb(0x9aa3ae);
    theme.accent = kSky;
    theme.reserved = rgb(0xffcf7a);
    theme.allocated = kBlue;
    theme.used = rgb(0x14507a);
    theme.active = kPurple;
    theme.requested = kSky;
    theme.cached = kOrange;
    theme.fragmentation = kYellow;
    theme.rounding = mix(theme.plot, kYellow, 0.585);
    theme.hole = rgb(0x1b1d22);
    theme.host = kGreen;
    theme.disk = rgb(0xa57a58);
    theme.warning = rgb(0xf0b23a);
    theme.problem = rgb(0xf0713a);
    theme.selection = rgb(0x9f8cff);
    theme.cursor = rgb(0xffffff);
    theme.better = kSky;
    theme.worse = rgb(0xf0713a);
    return theme;
}

Theme make_light() {
    Theme theme{};
    theme.dark = false;
    theme.ground = rgb(0xf3f4f6);
    theme.panel = rgb(0xfafafa);
    theme.plot = rgb(0xffffff);
    theme.grid = rgb(0xe3e6ea);
    theme.border = rgb(0xc3c8d0);
    theme.text = rgb(0x16181c);
    theme.faint_text = rgb(0x5a626d);
    theme.accent = rgb(0x005f96);
    theme.reserved = rgb(0xb87900);
    theme.allocated = kBlue;
    theme.used = rgb(0xbcdcf2);
    theme.active = rgb(0xb4578b);
    theme.requested = kDeepSky;
    theme.cached = rgb(0xcc5200);
    theme.fragmentation = rgb(0x580d18);
    theme.rounding = rgb(0x574e00);
    theme.hole = rgb(0xeff1f3);
    theme.host = rgb(0x00855f);
    theme.disk = rgb(0x7a4a3a);
    theme.warning = rgb(0x8a5c00);
    theme.problem = rgb(0xb34700);
    theme.selection = rgb(0x6a1fd0);
    theme.cursor = rgb(0x16181c);
    theme.better = rgb(0x005f96);
    theme.worse = rgb(0xb34700);
    return theme;
}

// A colour of Oklab, whose lightness is perceptually uniform, as sRGB.
Colour from_oklab(double lightness, double a, double b) {
    const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
    const auto encoded = [](double linear) {
        const double share = std::clamp(linear, 0.0, 1.0);
        const double value =
            share <= 0.0031308 ? 12.92 * share : 1.055 * std::pow(share, 1 / 2.4) - 0.055;
        return static_cast<std::uint32_t>(std::lround(255 * value));
    };
    const std::uint32_t red = encoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
    const std::uint32_t green = encoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
    const std::uint32_t blue = encoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
    return rgb(red << 16 | green << 8 | blue);
}

constexpr std::size_t kRampSteps = 256;

// Lightness rises evenly; the hue goes from blue through grey to yellow, so that it reads the same
// to people who don't see red or green.
std::array<Colour, kRampSteps> make_ramp() {
    std::array<Colour, kRampSteps> ramp{};
    for (std::size_t i = 0; i < kRampSteps; ++i) {
        const double share = static_cast<double>(i) / (kRampSteps - 1);
        const double from_grey = 2 * share - 1;  // -1: blue, 0: grey, 1: yellow
        const double a = from_grey < 0 ? 0.010 * from_grey : -0.035 * from_grey;
        const double b = from_grey < 0 ? 0.095 * from_grey : 0.165 * from_grey;
        ramp[i] = from_oklab(0.28 + 0.64 * share, a, b);
    }
    return ramp;
}

}  // namespace

std::string css(Colour colour) {
    return fmt::format("#{:02x}{:02x}{:02x}", channel(colour, 0), channel(colour, 8),
                       channel(colour, 16));
}

Colour mix(Colour a, Colour b, double share) {
    const auto part = static_cast<unsigned>(std::lround(256 * std::clamp(share, 0.0, 1.0)));
    Colour mixed = 0xff000000U;
    for (const unsigned shift : {0U, 8U, 16U})
        mixed |= (channel(a, shift) * (256 - part) + channel(b, shift) * part + 128) >> 8 << shift;
    return mixed;
}

const Theme& dark_theme() {
    static const Theme theme = make_dark();
    return theme;
}

const Theme& light_theme() {
    static const Theme theme = make_light();
    return theme;
}

Colour category(const Theme& theme, std::size_t index) {
    const Colour hue = (theme.dark ? kDarkHues : kLightHues)[index % kHues];
    // Towards the text's colour, then towards the ground's, without reaching either.
    switch (index / kHues % 3) {
        case 1:
            return mix(hue, theme.text, 0.42);
        case 2:
            return mix(hue, theme.plot, 0.42);
        default:
            return hue;
    }
}

Colour calm(const Theme& theme, Colour colour) {
    return mix(theme.plot, colour, 0.7);
}

Colour run_colour(const Theme& theme, std::size_t run, std::size_t shown) {
    if (run == shown)
        return theme.reserved;
    const auto& lines = theme.dark ? kDarkLines : kLightLines;
    return category(theme, lines[run % lines.size()] + run / lines.size() % 3 * kHues);
}

Colour ramp(double share) {
    static const std::array<Colour, kRampSteps> steps = make_ramp();
    const double bounded = share > 0 ? std::min(share, 1.0) : 0.0;  // NaN becomes 0
    return steps[static_cast<std::size_t>(std::lround(bounded * (kRampSteps - 1)))];
}

}  // namespace tidemark
