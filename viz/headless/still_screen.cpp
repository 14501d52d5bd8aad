// Draws frames until nothing changes any longer.
#include "viz/headless/still_screen.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

namespace tidemark::viz {
namespace {

// ImGui lays out from the previous frame; then background work, for which a picture waits, but not
// forever.
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

StillScreen::StillScreen(Session& session, const StillOptions& options)
    : screen_(options.screen), shell_(session) {
    shell_.set_dark(options.dark);
    input_.scale = options.screen.scale;
    input_.still = true;
}

Result<std::unique_ptr<StillScreen>> StillScreen::open(Session& session,
                                                       const StillOptions& options) {
    TM_TRY(check_size(options.screen));
    std::unique_ptr<StillScreen> made(new StillScreen(session, options));
    for (const std::string& view : options.views)
        TM_TRY(made->shell_.show(view));
    TM_TRY(made->shell_.find(options.find));
    if (!options.location.empty())
        TM_TRY(made->shell_.go(options.location));
    return made;
}

void StillScreen::draw() {
    screen_.begin(shell_.theme());
    shell_.draw(input_);
}

void StillScreen::settle() {
    int frames = 0;
    do {
        draw();
        screen_.skip();
        ++frames;
        if (shell_.busy())
            std::this_thread::sleep_for(kPause);
    } while (frames < kLeastFrames || (shell_.busy() && frames < kMostFrames));
}

const Bitmap& StillScreen::frame() {
    draw();
    return screen_.end();
}

}  // namespace tidemark::viz
