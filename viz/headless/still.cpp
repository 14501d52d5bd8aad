// Drawing frames until nothing changes any more.
#include "viz/headless/still.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "viz/shell/shell.h"

namespace tidemark::viz {
namespace {

// ImGui lays out by what it saw in the frame before; then whatever is being computed, for which a
// picture waits, but not for ever.
constexpr int kLeastFrames = 4;
constexpr int kMostFrames = 20'000;
constexpr std::chrono::milliseconds kPause{2};

Result<void> check_size(const OffscreenOptions& screen) {
    for (const std::uint32_t length : {screen.width, screen.height})
        if (length < kSmallestStill || length > kLargestStill)
            return fail(
                ErrorCode::bad_option,
                fmt::format("{} x {} pixels can't be drawn", screen.width, screen.height), "--size",
                fmt::format("from {0} x {0} to {1} x {1} can", kSmallestStill, kLargestStill));
    return {};
}

}  // namespace

Result<Bitmap> draw_still(Session& session, const StillOptions& options) {
    TM_TRY(check_size(options.screen));
    Offscreen screen(options.screen);
    Shell shell(session);
    shell.set_dark(options.dark);
    for (const std::string& view : options.views)
        TM_TRY(shell.show(view));
    TM_TRY(shell.find(options.find));
    if (!options.location.empty())
        TM_TRY(shell.go(options.location));
    ShellInput input;
    input.scale = options.screen.scale;
    input.still = true;
    int frames = 0;
    do {
        screen.begin(shell.theme());
        shell.draw(input);
        screen.skip();
        ++frames;
        if (shell.busy())
            std::this_thread::sleep_for(kPause);
    } while (frames < kLeastFrames || (shell.busy() && frames < kMostFrames));
    screen.begin(shell.theme());
    shell.draw(input);
    return screen.end();
}

}  // namespace tidemark::viz
