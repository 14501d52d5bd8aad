// Messages as the page of a browser makes them, for tests.
#pragma once

#include <string_view>
#include <vector>

#include "viz/serve/wire.h"

namespace tidemark::viz {

using ByteVector = std::vector<std::byte>;

// Kinds and fields by viz/serve/browser_events.h.
class BrowserBytes {
  public:
    BrowserBytes& size(unsigned width, unsigned height, unsigned ratio = 256) {
        return u8(1).u16(width).u16(height).u16(ratio);
    }

    BrowserBytes& move(unsigned x, unsigned y, unsigned held = 0) {
        return u8(2).u8(held).u16(x).u16(y);
    }

    BrowserBytes& button(unsigned button, unsigned down, unsigned held = 0) {
        return u8(4).u8(held).u8(button).u8(down);
    }

    BrowserBytes& wheel(int across, int down, unsigned held = 0) {
        return u8(5).u8(held).u16(static_cast<unsigned>(across)).u16(static_cast<unsigned>(down));
    }

    BrowserBytes& key(std::string_view name, unsigned state = 1, unsigned held = 0) {
        return u8(6).u8(held).u8(state).u8(static_cast<unsigned>(name.size())).text(name);
    }

    BrowserBytes& paste(std::string_view pasted) {
        return u8(7).u16(static_cast<unsigned>(pasted.size())).text(pasted);
    }

    BrowserBytes& drawn(unsigned number) {
        u8(8);
        put_number(bytes, number, 4);
        return *this;
    }

    BrowserBytes& u8(unsigned value) {
        put_number(bytes, value, 1);
        return *this;
    }

    BrowserBytes& u16(unsigned value) {
        put_number(bytes, value, 2);
        return *this;
    }

    BrowserBytes& text(std::string_view added) {
        put_text(bytes, added);
        return *this;
    }

    ByteVector bytes;
};

}  // namespace tidemark::viz
