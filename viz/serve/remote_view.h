// RemoteView: the viewer as one browser sees it: a screen in memory with a shell of its own, so
// that two users who look at the same runs don't move each other's window. Events of the browser
// in, messages for it out.
//
// A frame is drawn when something may have changed, not more often than requested, and never ahead
// of what the browser reports as drawn; if nothing has changed, nothing is sent. All times are
// seconds of the caller's clock. Its maker's thread only.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "viz/headless/offscreen.h"
#include "viz/serve/browser_events.h"
#include "viz/serve/frame_encoder.h"
#include "viz/shell/mouse_queue.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

struct RemoteViewOptions {
    bool dark = true;
    float scale = 0;  // of all lengths; 0 = the browser's
    FontChoice fonts = FontChoice::system;
    FrameForm form = FrameForm::compressed;
    double frames_a_second = 30;     // at most
    std::vector<std::string> views;  // as in StillOptions
    std::string find;
    std::string location;
};

class RemoteView {
  public:
    // `session` outlives it; of `host` saving and quitting are left to the browser. Errors: those
    // of Shell::show, find and go.
    static Result<std::unique_ptr<RemoteView>> open(Session& session, ShellHost host,
                                                    const RemoteViewOptions& options);

    // A browser that knows nothing is connected from now on; or none is any longer.
    void connect();
    void disconnect();

    // Whether somebody sees it.
    bool visible() const { return connected_ && !hidden_ && sized_; }

    void take(const BrowserEvent& event);

    // What it shows may have changed: `frames` are drawn.
    void refresh(int frames);

    // When the next frame is to be drawn; nothing: not before an event.
    std::optional<double> next_frame() const;

    // Draws one. The messages for the browser, in order; often none.
    std::vector<std::vector<std::byte>> draw(double now);

    Shell& shell() { return shell_; }

  private:
    // One that the browser has not reported as drawn.
    struct SentFrame {
        std::uint32_t number = 0;
        std::size_t bytes = 0;
    };

    RemoteView(Session& session, ShellHost host, const RemoteViewOptions& options);

    void type(const BrowserKey& event, ShellInput& input);
    HeldModifiers take_typing(ShellInput& input);

    bool has_input() const { return !mouse_.empty() || !typing_.empty(); }

    void release_all();
    void apply_input(ShellInput& input);
    const Bitmap& draw_frames(double now);
    bool has_room() const;

    double frame() const { return 1 / options_.frames_a_second; }  // seconds

    RemoteViewOptions options_;
    Offscreen screen_;
    bool saves_ = false;
    Shell shell_;
    FrameEncoder encoder_;
    SelectableTexts texts_;  // of the last frame
    SelectableTexts sent_texts_;

    bool connected_ = false;
    bool hidden_ = false;
    bool sized_ = false;  // the browser has said how large it is
    PageSized size_;

    MouseQueue mouse_;
    bool inside_ = false;
    std::bitset<MouseQueue::kButtons> buttons_;
    HeldModifiers held_;                                       // by the last event
    std::deque<std::variant<BrowserKey, TextPasted>> typing_;  // not yet drawn
    std::bitset<256> down_;                                    // by Key
    std::bitset<256> released_;                                // with the next frame

    int settle_ = 0;  // frames that are drawn although nothing moves
    double next_ = 0;
    double last_ = 0;
    int unchanged_ = 0;       // frames in a row that were as the one before
    bool drew_same_ = false;  // the last one was
    bool busy_ = false;
    std::uint32_t number_ = 0;
    std::deque<SentFrame> sent_;
    std::string copied_;
    bool copies_ = false;
    std::optional<int> cursor_;
};

}  // namespace tidemark::viz
