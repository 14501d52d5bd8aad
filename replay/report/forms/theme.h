// Theme: colours by meaning, dark and light, for everything drawn: viewer, page, report and plots.
// Curves use the palette of Okabe and Ito. A colour of data has one meaning, and people with the
// common kinds of colour blindness can tell it from the others; where a difference matters, shape
// or pattern shows it as well. Wasted memory is the strongest area of a picture, at least 3 : 1
// against the ground and against used memory, which is calm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tidemark {

// 0xAABBGGRR, as ImGui's draw lists take it.
using Colour = std::uint32_t;

constexpr Colour rgb(std::uint32_t hex) {
    return 0xff000000U | (hex & 0xffU) << 16 | (hex & 0xff00U) | hex >> 16;
}

// "#rrggbb", as style sheets and SVG take it.
std::string css(Colour colour);

// `share` of `b` in `a`, 0 to 1, opaque.
Colour mix(Colour a, Colour b, double share);

struct Theme {
    bool dark = true;
    Colour ground;  // of the window
    Colour panel;   // of panels and tables
    Colour plot;    // behind curves and maps
    Colour grid;    // lines of axes
    Colour border;
    Colour text;
    Colour faint_text;  // units, hints; still 4.5 : 1
    Colour accent;      // what can be clicked
    Colour reserved;
    Colour allocated;
    Colour used;    // the area of allocated memory
    Colour active;  // pending free
    Colour requested;
    Colour cached;         // the gap between reserved and active; in a map, what is free
    Colour fragmentation;  // of that gap, what can't be released
    Colour rounding;       // the gap between requested and allocated
    Colour hole;           // in a map: addresses without memory
    Colour host;
    Colour disk;
    Colour warning;
    Colour problem;
    Colour selection;
    Colour cursor;
    Colour better;  // of differences, with a sign next to it
    Colour worse;
};

const Theme& dark_theme();
const Theme& light_theme();

// The i-th colour of an endless row: kHues colours that everybody can tell apart, then the same at
// other lightnesses. None is grey: grey is for things without a name.
Colour category(const Theme& theme, std::size_t index);

// `colour` for an area, calm enough for waste to stand out next to it.
Colour calm(const Theme& theme, Colour colour);

// The colour of a run's reserved memory, and of the swatch next to its name: if run `shown` has all
// its curves, others have hues that none of these has.
Colour run_colour(const Theme& theme, std::size_t run, std::size_t shown);

// A perceptually uniform ramp from dark blue through grey to yellow: `share` 0 to 1.
Colour ramp(double share);

}  // namespace tidemark
