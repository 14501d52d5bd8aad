// Turns events into frames.
#include "viz/serve/remote_view.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <imgui.h>

#include "viz/serve/browser_keys.h"
#include "viz/serve/wire.h"

namespace tidemark::viz {
namespace {

constexpr double kEarlyFrame = 0.008;  // for a key or button, if the last one was as before
constexpr double kSlowFrame = 0.1;     // where frame after frame shows the same
constexpr int kUnchanged = 30;         // so many of them
constexpr int kSettleFrames = 4;       // ImGui lays out from the previous frame
constexpr int kMostSkipped = 8;        // frames without pixels, for a click's steps
constexpr std::size_t kSentBytes = 128U << 10U;  // on the way, unless it is a single frame
constexpr std::size_t kSentFrames = 8;
constexpr std::size_t kMostTyping = 256;  // events that wait for a frame; more are dropped
constexpr std::uint32_t kSmallestScreen = 64;

constexpr std::byte kCopyMessage{2};
constexpr std::byte kSaveMessage{3};
constexpr std::byte kCursorMessage{4};
constexpr std::byte kTextsMessage{11};

struct NamedKey {
    ImGuiKey theirs;
    Key ours;
};

// What ImGui's text fields need to know.
constexpr std::array kTextKeys = {
    NamedKey{ImGuiKey_Tab, Key::tab},
    NamedKey{ImGuiKey_LeftArrow, Key::left},
    NamedKey{ImGuiKey_RightArrow, Key::right},
    NamedKey{ImGuiKey_UpArrow, Key::up},
    NamedKey{ImGuiKey_DownArrow, Key::down},
    NamedKey{ImGuiKey_PageUp, Key::page_up},
    NamedKey{ImGuiKey_PageDown, Key::page_down},
    NamedKey{ImGuiKey_Home, Key::home},
    NamedKey{ImGuiKey_End, Key::end},
    NamedKey{ImGuiKey_Delete, Key::remove},
    NamedKey{ImGuiKey_Backspace, Key::backspace},
    NamedKey{ImGuiKey_Enter, Key::enter},
    NamedKey{ImGuiKey_Escape, Key::escape},
    NamedKey{ImGuiKey_A, key('a')},
    NamedKey{ImGuiKey_C, key('c')},
    NamedKey{ImGuiKey_X, key('x')},
    NamedKey{ImGuiKey_Y, key('y')},
    NamedKey{ImGuiKey_Z, key('z')},
};

OffscreenOptions screen_options(const RemoteViewOptions& options) {
    OffscreenOptions screen;
    screen.scale = options.scale > 0 ? options.scale : 1;
    screen.fonts = options.fonts;
    return screen;
}

ShellHost with_saving(ShellHost host, bool& saves) {
    host.save_image = [&saves] { saves = true; };
    host.quit = {};
    host.saves_tables = host.saves_tables && host.take_file;
    return host;
}

// Events whose answer somebody waits for; a mouse that moves is waited for all the time.
bool is_press(const BrowserEvent& event) {
    return std::holds_alternative<BrowserKey>(event) ||
           std::holds_alternative<MousePressed>(event) || std::holds_alternative<TextPasted>(event);
}

// "left top width height text", a line each.
std::string lines_of(const SelectableTexts& texts) {
    std::string lines;
    for (const SelectableText& each : texts) {
        lines += fmt::format("{:.0f} {:.0f} {:.0f} {:.0f} ", each.left, each.top, each.width,
                             each.height);
        for (const char letter : each.text)
            lines += letter == '\n' ? ' ' : letter;
        lines += '\n';
    }
    return lines;
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

Result<std::unique_ptr<RemoteView>> RemoteView::open(Session& session, ShellHost host,
                                                     const RemoteViewOptions& options) {
    std::unique_ptr<RemoteView> view(new RemoteView(session, std::move(host), options));
    Shell& shell = view->shell_;
    shell.set_dark(options.dark);
    for (const std::string& name : options.views)
        TM_TRY(shell.show(name));
    TM_TRY(shell.find(options.find));
    if (!options.location.empty())
        TM_TRY(shell.go(options.location));
    return view;
}

RemoteView::RemoteView(Session& session, ShellHost host, const RemoteViewOptions& options)
    : options_(options),
      screen_(screen_options(options)),
      shell_(session, with_saving(std::move(host), saves_)),
      encoder_(options.form) {
    ImGuiIO& io = screen_.io();
    io.ConfigInputTextCursorBlink = false;  // a blinking cursor would be a frame, again and again
    for (const NamedKey& each : kTextKeys)
        io.KeyMap[each.theirs] = static_cast<int>(each.ours);
    io.ClipboardUserData = this;
    io.GetClipboardTextFn = [](void* self) {
        return static_cast<const RemoteView*>(self)->copied_.c_str();
    };
    io.SetClipboardTextFn = [](void* self, const char* text) {
        static_cast<RemoteView*>(self)->copied_ = text;
        static_cast<RemoteView*>(self)->copies_ = true;
    };
}

void RemoteView::connect() {
    disconnect();
    connected_ = true;
    hidden_ = false;
    encoder_.forget();
    cursor_.reset();
    sent_texts_.clear();
    refresh(kSettleFrames);
}

void RemoteView::disconnect() {
    connected_ = false;
    sized_ = false;
    sent_.clear();
    release_all();
}

void RemoteView::refresh(int frames) {
    settle_ = std::max(settle_, frames);
    unchanged_ = 0;
}

void RemoteView::release_all() {
    typing_.clear();
    released_ |= down_;
    inside_ = false;
    held_ = {};
    for (std::size_t button = 0; button < buttons_.size(); ++button)
        if (buttons_[button])
            mouse_.press(static_cast<int>(button), false);
    buttons_.reset();
}

// A key that goes up is down for this frame still: it may have gone down with it.
void RemoteView::type(const BrowserKey& event, ShellInput& input) {
    if (const auto press = press_of(event)) {
        const auto code = static_cast<std::size_t>(press->key);
        released_.set(code, !event.down);
        if (event.down) {
            down_.set(code);
            input.keys.push_back(*press);
        }
    }
    screen_.io().AddInputCharactersUTF8(std::string(typed_text(event)).c_str());
}

void RemoteView::take(const BrowserEvent& event) {
    if (const auto* const drawn = std::get_if<FrameDrawn>(&event)) {
        while (!sent_.empty() && sent_.front().number <= drawn->number)
            sent_.pop_front();
        return;
    }
    refresh(kSettleFrames);
    // Keeps within 30 sent frames a second: the last frame wasn't sent.
    if (is_press(event) && drew_same_)
        next_ = std::min(next_, last_ + kEarlyFrame);
    std::visit(Overloaded{
                   [&](const PageSized& size) {
                       size_ = size;
                       sized_ = true;
                   },
                   [&](const MouseMoved& moved) {
                       held_ = moved.held;
                       inside_ = true;
                       mouse_.move(moved.x, moved.y);
                   },
                   [&](const MouseLeft&) { inside_ = false; },
                   [&](const MousePressed& pressed) {
                       held_ = pressed.held;
                       buttons_[static_cast<std::size_t>(pressed.button)] = pressed.down;
                       mouse_.press(pressed.button, pressed.down);
                   },
                   [&](const WheelTurned& turned) {
                       held_ = turned.held;
                       mouse_.turn(turned.across, turned.down);
                   },
                   [&](const BrowserKey& changed) {
                       held_ = changed.held;
                       if (typing_.size() < kMostTyping || !changed.down)
                           typing_.emplace_back(changed);
                   },
                   [&](const TextPasted& pasted) {
                       if (typing_.size() < kMostTyping)
                           typing_.emplace_back(pasted);
                   },
                   [&](const PageHidden& page) { hidden_ = page.hidden; },
                   [&](const FocusLost&) { release_all(); },
                   [](const FrameDrawn&) {},
               },
               event);
}

bool RemoteView::has_room() const {
    std::size_t bytes = 0;
    for (const SentFrame& frame : sent_)
        bytes += frame.bytes;
    return sent_.empty() || (bytes < kSentBytes && sent_.size() < kSentFrames);
}

std::optional<double> RemoteView::next_frame() const {
    if (!visible() || !has_room() || (settle_ == 0 && !busy_))
        return std::nullopt;
    const bool slow = settle_ == 0 && unchanged_ >= kUnchanged;
    return slow ? next_ + kSlowFrame - frame() : next_;
}

// One key after the other, a frame each; what was held with it, or is held now.
HeldModifiers RemoteView::take_typing(ShellInput& input) {
    HeldModifiers held = held_;
    for (bool presses = false; !typing_.empty() && !presses; typing_.pop_front()) {
        if (const auto* const changed = std::get_if<BrowserKey>(&typing_.front())) {
            presses = changed->down;
            held = changed->held;
            type(*changed, input);
        } else {
            presses = true;
            screen_.io().AddInputCharactersUTF8(std::get<TextPasted>(typing_.front()).text.c_str());
        }
    }
    return held;
}

// Passes events since the last frame to ImGui and to the shell.
void RemoteView::apply_input(ShellInput& input) {
    ImGuiIO& io = screen_.io();
    const float scale = options_.scale > 0 ? options_.scale : size_.ratio;
    input.scale = std::clamp(scale, kSmallestScale, kLargestScale);
    screen_.resize(std::clamp(size_.width, kSmallestScreen, kWidestScreen),
                   std::clamp(size_.height, kSmallestScreen, kWidestScreen), input.scale);
    const HeldModifiers held = take_typing(input);
    io.KeyCtrl = held.control;
    io.KeyShift = held.shift;
    io.KeyAlt = held.alt;
    for (std::size_t code = 0; code < down_.size(); ++code)
        io.KeysDown[code] = down_[code];
    for (const char letter : {'w', 'a', 's', 'd'})
        if (down_[static_cast<std::size_t>(letter)])
            input.held.push_back(key(letter));
    down_ &= ~released_;
    released_.reset();
}

// A click's steps are a frame each; only the last one is looked at.
const Bitmap& RemoteView::draw_frames(double now) {
    double seconds = std::clamp(now - last_, 1e-3, 1.0);
    last_ = now;
    for (int skipped = 0;; ++skipped) {
        ShellInput input;
        apply_input(input);
        mouse_.apply(screen_.io(), inside_);
        screen_.begin(shell_.theme(), static_cast<float>(seconds));
        texts_.clear();
        input.texts = &texts_;
        shell_.draw(input);
        seconds = 1e-3;
        if (!has_input() || skipped == kMostSkipped)
            return screen_.end();
        screen_.skip();
    }
}

std::vector<std::vector<std::byte>> RemoteView::draw(double now) {
    next_ = std::max(next_ + frame(), now);
    settle_ = std::max(0, settle_ - 1);
    const Bitmap& bitmap = draw_frames(now);
    busy_ = shell_.busy() || has_input() || down_.any();
    std::vector<std::vector<std::byte>> messages;
    auto frame = encoder_.encode(bitmap, number_ + 1);
    drew_same_ = frame.empty();
    if (!drew_same_) {
        sent_.push_back({++number_, frame.size()});
        messages.push_back(std::move(frame));
        unchanged_ = 0;
    } else {
        ++unchanged_;
    }
    if (std::exchange(copies_, false)) {
        put_text(messages.emplace_back(1, kCopyMessage), copied_);
    }
    if (std::exchange(saves_, false))
        messages.emplace_back(1, kSaveMessage);
    if (const int cursor = ImGui::GetMouseCursor(); cursor != cursor_) {
        cursor_ = cursor;
        put_number(messages.emplace_back(1, kCursorMessage), static_cast<std::uint32_t>(cursor), 1);
    }
    if (settle_ == 0 && texts_ != sent_texts_) {  // at rest: not with each movement of the mouse
        sent_texts_ = texts_;
        put_text(messages.emplace_back(1, kTextsMessage), lines_of(texts_));
    }
    return messages;
}

}  // namespace tidemark::viz
