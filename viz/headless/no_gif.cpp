// Replaces gif.cpp in builds without its library.
#include "viz/headless/animated_file.h"

namespace tidemark::viz {

Result<std::unique_ptr<AnimatedFile>> create_gif(std::uint32_t width, std::uint32_t height);

Result<std::unique_ptr<AnimatedFile>> create_gif(std::uint32_t /*width*/,
                                                 std::uint32_t /*height*/) {
    return no_animation_format(".gif");
}

}  // namespace tidemark::viz
