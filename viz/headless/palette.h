// Palette: a few colours for many, for formats with a limited number. If there are no more colours
// than that, they are exact. Else the colours are cut into boxes, always the one with the largest
// squared error at its mean (as in Wu's quantiser), and the boxes' means moved to those of the
// colours that are nearest to them (Lloyd). Pure; the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replay/report/forms/theme.h"

namespace tidemark::viz {

class Palette {
  public:
    // Of these pixels, at most `most` (1 to 256) colours. O(pixels * log pixels, and
    // different colours * most).
    Palette(std::span<const Colour> pixels, std::size_t most);

    // Opaque.
    const std::vector<Colour>& colours() const { return colours_; }

    // The nearest one to a colour of those pixels. O(log colours).
    std::uint8_t index_of(Colour colour) const;

  private:
    struct Entry {
        Colour colour = 0;
        std::uint32_t count = 0;
        std::uint8_t index = 0;
    };

    void cut(std::size_t most);
    void settle();

    std::vector<Entry> entries_;  // the different ones, by colour
    std::vector<Colour> colours_;
};

}  // namespace tidemark::viz
