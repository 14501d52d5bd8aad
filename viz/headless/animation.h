// Animation: a view while the cursor moves over the window, as pictures in a file: each frame is
// what a still would show, so that the same session gives the same frames on every machine.
#pragma once

#include <functional>

#include "traces/io/output_target.h"
#include "viz/headless/still.h"

namespace tidemark::viz {

struct AnimationOptions {
    StillOptions still;
    std::uint32_t frames = 60;    // the last one is at the window's end
    int frame_milliseconds = 80;  // of each
};

// Calls `take` with each frame and its duration. Errors: those of draw_still and of `take`.
Result<void> draw_animation(Session& session, const AnimationOptions& options,
                            const std::function<Result<void>(const Bitmap&, int)>& take);

// As a file in the format that its name says. Errors: those above, of check_animation_path and of
// AnimatedFile.
Result<void> write_animation(Session& session, const AnimationOptions& options,
                             const OutputTarget& target);

// Errors: bad_option (a name with an unknown ending, with the known ones), unsupported (the
// format's library is missing, with what to install), io (nothing can be written there).
Result<void> check_animation_path(const std::string& path);

}  // namespace tidemark::viz
