// BrowserEvents: what the page in the browser reports: its size, mouse and keys, and which frames
// it has drawn. Anybody may send anything: only messages in exactly this format are taken.
//
// A message is one or more events, one after the other, numbers little-endian. An event starts with
// a byte for its kind:
//
//   1 size     u16 width, u16 height (pixels), u16 ratio (of those to points, in 256ths)
//   2 move     u8 held, u16 x, u16 y (pixels)
//   3 leave    (the mouse is no longer over the page)
//   4 button   u8 held, u8 button (0 left, 1 right, 2 middle), u8 down (1 or 0)
//   5 wheel    u8 held, i16 across, i16 down (in 256ths of a notch; positive = left, up)
//   6 key      u8 held, u8 state (0 up, 1 down, 2 down and repeating), u8 length, name in UTF-8
//   7 paste    u16 length, text in UTF-8
//   8 drawn    u32 number of a frame
//   9 hidden   u8 (1: nobody sees the page; 0: somebody does)
//  10 blur     (the page has no keyboard any more: nothing is held)
//
// `held` has bits: 1 Ctrl (or Cmd), 2 Shift, 4 Alt. A key's name is KeyboardEvent.key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"

namespace tidemark::viz {

struct HeldModifiers {
    bool control = false;
    bool shift = false;
    bool alt = false;
};

struct PageSized {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    float ratio = 1;
};

struct MouseMoved {
    HeldModifiers held;
    float x = 0;
    float y = 0;
};

struct MouseLeft {};

struct MousePressed {
    HeldModifiers held;
    int button = 0;  // as ImGui counts them
    bool down = false;
};

struct WheelTurned {
    HeldModifiers held;
    float across = 0;  // notches
    float down = 0;
};

struct BrowserKey {
    HeldModifiers held;
    std::string name;
    bool down = false;
    bool repeats = false;
};

struct TextPasted {
    std::string text;
};

struct FrameDrawn {
    std::uint32_t number = 0;
};

struct PageHidden {
    bool hidden = false;
};

struct FocusLost {};

using BrowserEvent = std::variant<PageSized, MouseMoved, MouseLeft, MousePressed, WheelTurned,
                                  BrowserKey, TextPasted, FrameDrawn, PageHidden, FocusLost>;

constexpr std::size_t kMostMessageBytes = 16U << 10U;  // a longer one is refused
constexpr std::size_t kMostKeyName = 32;               // bytes

// Errors (bad_input): an invalid event, or one that is cut off; nothing of the message is taken.
// O(bytes).
Result<std::vector<BrowserEvent>> parse_browser_events(std::span<const std::byte> message);

}  // namespace tidemark::viz
