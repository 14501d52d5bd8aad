// Instead of mp4.cpp, where its library is not.
#include "viz/headless/animated_file.h"

namespace tidemark::viz {

Result<std::unique_ptr<AnimatedFile>> create_mp4(std::uint32_t width, std::uint32_t height);

Result<std::unique_ptr<AnimatedFile>> create_mp4(std::uint32_t /*width*/,
                                                 std::uint32_t /*height*/) {
    return no_animation_format(".mp4");
}

}  // namespace tidemark::viz
