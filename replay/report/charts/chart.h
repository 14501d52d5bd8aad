// Chart: a timeline as text. Two areas over time, reserved memory behind allocated memory, with
// sizes on the left and times below. Made of block characters, or of ASCII if those can't be
// shown. Pure: the same timeline and style give the same text.
#pragma once

#include <string>

#include "replay/timeline/timeline.h"

namespace tidemark {

struct ChartStyle {
    unsigned width = 80;   // columns in total, with the axis; at least 40 are used
    unsigned height = 12;  // lines of the areas
    bool unicode = false;
    bool colour = false;  // escape sequences; finer edges, as one character can show both areas
};

// Lines of at most `style.width` characters; "" for a timeline without memory. If the trace has
// times, the horizontal axis is time, else events. O(buckets).
std::string draw(const Timeline& timeline, const ChartStyle& style);

}  // namespace tidemark
