// A still is one frame of a screen whose work has finished.
#include "viz/headless/still.h"

#include "viz/headless/still_screen.h"

namespace tidemark::viz {

Result<Bitmap> draw_still(Session& session, const StillOptions& options) {
    TM_ASSIGN(const auto screen, StillScreen::open(session, options));
    screen->settle();
    return screen->frame();
}

}  // namespace tidemark::viz
