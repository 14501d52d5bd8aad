// Moves the cursor from frame to frame.
#include "viz/headless/animation.h"

#include <vector>

#include <fmt/format.h>

#include "traces/io/output_file.h"
#include "viz/headless/animated_file.h"
#include "viz/headless/still_screen.h"

namespace tidemark::viz {
namespace {

constexpr int kLastMilliseconds = 2500;  // the last frame stays this long

}  // namespace

Result<void> draw_animation(Session& session, const AnimationOptions& options,
                            const std::function<Result<void>(const Bitmap&, int)>& take) {
    TM_ASSIGN(const auto screen, StillScreen::open(session, options.still));
    screen->settle();
    const Window window = screen->shell().camera().window();
    Selection& selection = screen->shell().selection();
    selection.plays = true;
    for (std::uint32_t i = 1; i <= options.frames; ++i) {
        const double share = static_cast<double>(i) / options.frames;
        const auto passed = static_cast<Position>(static_cast<double>(window.length() - 1) * share);
        selection.cursor = window.begin + passed;
        screen->settle();
        const bool is_last = i == options.frames;
        TM_TRY(take(screen->frame(), is_last ? kLastMilliseconds : options.frame_milliseconds));
    }
    return {};
}

Result<void> write_animation(Session& session, const AnimationOptions& options,
                             const OutputTarget& target) {
    TM_TRY(check_animation_path(target.path));
    const OffscreenOptions& screen = options.still.screen;
    TM_ASSIGN(const auto file,
              animation_format_of(target.path)->create(screen.width, screen.height));
    TM_TRY(draw_animation(session, options, [&file](const Bitmap& bitmap, int milliseconds) {
        return file->add(bitmap, milliseconds);
    }));
    return file->write(target);
}

Result<void> check_animation_path(const std::string& path) {
    const AnimationFormat* const format = animation_format_of(path);
    if (format == nullptr) {
        std::vector<std::string> names;
        for (const AnimationFormat& each : animation_formats())
            names.push_back(fmt::format("OUT{}", each.ending));
        return fail(ErrorCode::bad_option, fmt::format("'{}' is not a name for an animation", path),
                    "--animate", fmt::format("name it {}", fmt::join(names, ", ")));
    }
    TM_TRY(format->create(kSmallestStill, kSmallestStill));
    return OutputFile::check(path);
}

}  // namespace tidemark::viz
