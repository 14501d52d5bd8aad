// Reading events, byte by byte.
#include "viz/serve/browser_events.h"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/base/printable.h"

namespace tidemark::viz {
namespace {

constexpr float kRatioUnit = 256;
constexpr float kNotchUnit = 256;
constexpr unsigned kMostButton = 4;

bool is_utf8(std::string_view text) {
    while (const std::size_t length = utf8_length(text))
        text.remove_prefix(length);
    return text.empty();
}

// What is left of a message. What it doesn't have makes it fail, and stay so.
class EventBytes {
  public:
    explicit EventBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

    bool failed() const { return failed_; }

    bool empty() const { return bytes_.empty(); }

    void fail() { failed_ = true; }

    unsigned u8() { return number(1); }

    unsigned u16() { return number(2); }

    std::uint32_t u32() { return number(4); }

    int i16() { return static_cast<std::int16_t>(number(2)); }

    // 0 or 1.
    bool flag() {
        const unsigned value = u8();
        if (value > 1)
            fail();
        return value == 1;
    }

    HeldModifiers held() {
        const unsigned bits = u8();
        if (bits > 7)
            fail();
        return {(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
    }

    std::string text(std::size_t length) {
        if (length > bytes_.size()) {
            fail();
            return {};
        }
        std::string text(reinterpret_cast<const char*>(bytes_.data()), length);
        bytes_ = bytes_.subspan(length);
        if (!is_utf8(text))
            fail();
        return text;
    }

  private:
    std::uint32_t number(std::size_t width) {
        if (bytes_.size() < width) {
            fail();
            return 0;
        }
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < width; ++i)
            value |= std::to_integer<std::uint32_t>(bytes_[i]) << (8 * i);
        bytes_ = bytes_.subspan(width);
        return value;
    }

    std::span<const std::byte> bytes_;
    bool failed_ = false;
};

PageSized read_size(EventBytes& bytes) {
    PageSized event;
    event.width = bytes.u16();
    event.height = bytes.u16();
    event.ratio = static_cast<float>(bytes.u16()) / kRatioUnit;
    if (event.width == 0 || event.height == 0 || event.ratio == 0)
        bytes.fail();
    return event;
}

MouseMoved read_move(EventBytes& bytes) {
    MouseMoved event;
    event.held = bytes.held();
    event.x = static_cast<float>(bytes.u16());
    event.y = static_cast<float>(bytes.u16());
    return event;
}

MousePressed read_button(EventBytes& bytes) {
    MousePressed event;
    event.held = bytes.held();
    const unsigned button = bytes.u8();
    if (button > kMostButton)
        bytes.fail();
    event.button = static_cast<int>(button);
    event.down = bytes.flag();
    return event;
}

WheelTurned read_wheel(EventBytes& bytes) {
    WheelTurned event;
    event.held = bytes.held();
    event.across = static_cast<float>(bytes.i16()) / kNotchUnit;
    event.down = static_cast<float>(bytes.i16()) / kNotchUnit;
    return event;
}

BrowserKey read_key(EventBytes& bytes) {
    BrowserKey event;
    event.held = bytes.held();
    const unsigned state = bytes.u8();
    const std::size_t length = bytes.u8();
    if (state > 2 || length == 0 || length > kMostKeyName)
        bytes.fail();
    event.down = state != 0;
    event.repeats = state == 2;
    event.name = bytes.text(length);
    return event;
}

std::optional<BrowserEvent> read_event(EventBytes& bytes) {
    switch (bytes.u8()) {
        case 1:
            return read_size(bytes);
        case 2:
            return read_move(bytes);
        case 3:
            return MouseLeft{};
        case 4:
            return read_button(bytes);
        case 5:
            return read_wheel(bytes);
        case 6:
            return read_key(bytes);
        case 7:
            return TextPasted{bytes.text(bytes.u16())};
        case 8:
            return FrameDrawn{bytes.u32()};
        case 9:
            return PageHidden{bytes.flag()};
        case 10:
            return FocusLost{};
        default:
            return std::nullopt;
    }
}

}  // namespace

Result<std::vector<BrowserEvent>> parse_browser_events(std::span<const std::byte> message) {
    if (message.empty() || message.size() > kMostMessageBytes)
        return tidemark::fail(ErrorCode::bad_input,
                              fmt::format("a message of {} bytes", message.size()));
    std::vector<BrowserEvent> events;
    EventBytes bytes(message);
    while (!bytes.empty()) {
        std::optional<BrowserEvent> event = read_event(bytes);
        if (!event || bytes.failed())
            return tidemark::fail(ErrorCode::bad_input,
                                  fmt::format("event {} of a message is invalid", events.size()));
        events.push_back(*std::move(event));
    }
    return events;
}

}  // namespace tidemark::viz
