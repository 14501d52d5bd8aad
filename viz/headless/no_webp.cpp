// Instead of webp.cpp, where its library is not.
#include "viz/headless/animated_file.h"

namespace tidemark::viz {

Result<std::unique_ptr<AnimatedFile>> create_webp(std::uint32_t width, std::uint32_t height);

Result<std::unique_ptr<AnimatedFile>> create_webp(std::uint32_t /*width*/,
                                                  std::uint32_t /*height*/) {
    return no_animation_format(".webp");
}

}  // namespace tidemark::viz
