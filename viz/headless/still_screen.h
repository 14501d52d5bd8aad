// StillScreen: a shell on a screen in memory that shows a session as a picture for a file does:
// without a mouse, and with all background work finished. For stills and animations.
#pragma once

#include <memory>

#include "viz/headless/still.h"
#include "viz/shell/shell.h"

namespace tidemark::viz {

class StillScreen {
  public:
    // `session` must be loaded, and outlive it. Errors: those of draw_still.
    static Result<std::unique_ptr<StillScreen>> open(Session& session, const StillOptions& options);

    // Draws until nothing changes any longer.
    void settle();

    // A frame in pixels; they stay until the next one.
    const Bitmap& frame();

    Shell& shell() { return shell_; }

  private:
    StillScreen(Session& session, const StillOptions& options);

    void draw();

    Offscreen screen_;
    Shell shell_;
    ShellInput input_;
};

}  // namespace tidemark::viz
