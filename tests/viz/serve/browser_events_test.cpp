// What a browser's messages say, and what is refused.
#include "viz/serve/browser_events.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/viz/serve/browser_bytes.h"
#include "viz/serve/browser_keys.h"
#include "viz/serve/rate_limit.h"

namespace tidemark::viz {
namespace {

bool refuses(const BrowserBytes& message) {
    return !parse_browser_events(message.bytes);
}

BrowserKey pressed(std::string name, HeldModifiers held = {}) {
    return {held, std::move(name), true, false};
}

}  // namespace

TEST_CASE("a message is one or more events, in order") {
    const auto events = parse_browser_events(BrowserBytes()
                                                 .size(1600, 900, 384)
                                                 .move(300, 65535, 2)
                                                 .u8(3)
                                                 .button(1, 1, 1)
                                                 .wheel(-256, 128, 4)
                                                 .key("ArrowLeft", 2, 4)
                                                 .paste("conv2d \xc3\xa9")
                                                 .drawn(0xfffffffe)
                                                 .u8(9)
                                                 .u8(1)
                                                 .u8(10)
                                                 .bytes);
    REQUIRE(events);
    REQUIRE(events->size() == 10);
    const auto& size = std::get<PageSized>((*events)[0]);
    CHECK(size.width == 1600);
    CHECK(size.height == 900);
    CHECK(size.ratio == 1.5F);
    const auto& moved = std::get<MouseMoved>((*events)[1]);
    CHECK(moved.x == 300);
    CHECK(moved.y == 65535);
    CHECK(moved.held.shift);
    CHECK_FALSE(moved.held.control);
    CHECK(std::holds_alternative<MouseLeft>((*events)[2]));
    const auto& button = std::get<MousePressed>((*events)[3]);
    CHECK(button.button == 1);
    CHECK(button.down);
    CHECK(button.held.control);
    const auto& wheel = std::get<WheelTurned>((*events)[4]);
    CHECK(wheel.across == -1);
    CHECK(wheel.down == 0.5F);
    CHECK(wheel.held.alt);
    const auto& changed = std::get<BrowserKey>((*events)[5]);
    CHECK(changed.name == "ArrowLeft");
    CHECK(changed.down);
    CHECK(changed.repeats);
    CHECK(std::get<TextPasted>((*events)[6]).text == "conv2d \xc3\xa9");
    CHECK(std::get<FrameDrawn>((*events)[7]).number == 0xfffffffe);
    CHECK(std::get<PageHidden>((*events)[8]).hidden);
    CHECK(std::holds_alternative<FocusLost>((*events)[9]));
}

TEST_CASE("what is no event is refused, with all of its message") {
    CHECK(refuses(BrowserBytes()));
    CHECK(refuses(BrowserBytes().u8(0)));
    CHECK(refuses(BrowserBytes().u8(11)));
    CHECK(refuses(BrowserBytes().u8(3).u8(200)));
    CHECK(refuses(BrowserBytes().size(0, 900)));
    CHECK(refuses(BrowserBytes().size(1600, 0)));
    CHECK(refuses(BrowserBytes().size(1600, 900, 0)));
    CHECK(refuses(BrowserBytes().move(1, 1, 8)));
    CHECK(refuses(BrowserBytes().button(5, 1)));
    CHECK(refuses(BrowserBytes().button(0, 2)));
    CHECK(refuses(BrowserBytes().key("")));
    CHECK(refuses(BrowserBytes().key("a", 3)));
    CHECK(refuses(BrowserBytes().key(std::string(kMostKeyName + 1, 'a'))));
    CHECK(refuses(BrowserBytes().u8(9).u8(2)));
    CHECK(refuses(BrowserBytes().paste(std::string(kMostMessageBytes, 'a'))));
}

TEST_CASE("an event that is cut off is refused wherever it is cut") {
    for (const BrowserBytes& whole :
         {BrowserBytes().size(1, 1), BrowserBytes().move(1, 1), BrowserBytes().button(0, 1),
          BrowserBytes().wheel(1, 1), BrowserBytes().key("Enter"), BrowserBytes().paste("text"),
          BrowserBytes().drawn(1)}) {
        CHECK(parse_browser_events(whole.bytes));
        for (std::size_t kept = 1; kept < whole.bytes.size(); ++kept)
            CHECK_FALSE(parse_browser_events(std::span(whole.bytes).first(kept)));
    }
}

TEST_CASE("text must be UTF-8") {
    CHECK_FALSE(refuses(BrowserBytes().paste("\xf0\x9f\x98\x80 \xed\x9f\xbf")));
    for (const std::string_view wrong : {"\xc3", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80", "\xff", "a\xe2\x82"})
        CHECK(refuses(BrowserBytes().paste(wrong)));
}

TEST_CASE("keys are those of the window, whatever the layout needs to type them") {
    CHECK(press_of(pressed("w")) == KeyPress{key('w'), false, false, false});
    CHECK(press_of(pressed("W", {.shift = true})) == KeyPress{key('w'), false, true, false});
    CHECK(press_of(pressed("c", {.control = true})) == KeyPress{key('c'), true, false, false});
    CHECK(press_of(pressed("ArrowLeft", {.alt = true})) == KeyPress{Key::left, false, false, true});
    CHECK(press_of(pressed(" ")) == KeyPress{Key::space, false, false, false});
    // The sign itself says that shift was needed for it.
    CHECK(press_of(pressed("?", {.shift = true})) == KeyPress{key('?'), false, false, false});
    CHECK(press_of(pressed("@", {.shift = true})) == KeyPress{key('2'), false, true, false});
    for (const char* other : {"Shift", "F5", "\xc3\xa9", "Unidentified", "@", ";"})
        CHECK_FALSE(press_of(pressed(other)));
}

TEST_CASE("a key types its character unless it is held with Ctrl or Alt") {
    CHECK(typed_text(pressed("a")) == "a");
    CHECK(typed_text(pressed(">", {.shift = true})) == ">");
    CHECK(typed_text(pressed("\xc3\xa9")) == "\xc3\xa9");
    CHECK(typed_text(pressed("@", {.control = true, .alt = true})) == "@");
    CHECK(typed_text(pressed("c", {.control = true})).empty());
    CHECK(typed_text(pressed("x", {.alt = true})).empty());
    CHECK(typed_text(pressed("Enter")).empty());
    CHECK(typed_text({{}, "a", false, false}).empty());
}

TEST_CASE("a rate is kept, with so many at once") {
    RateLimit limit(10, 3);
    for (int i = 0; i < 3; ++i)
        CHECK(limit.take(100));
    CHECK_FALSE(limit.take(100));
    CHECK_FALSE(limit.take(100.05));
    CHECK(limit.take(100.11));
    CHECK_FALSE(limit.take(100.12));
    for (int i = 0; i < 3; ++i)
        CHECK(limit.take(200));
    CHECK_FALSE(limit.take(200));
}

}  // namespace tidemark::viz
