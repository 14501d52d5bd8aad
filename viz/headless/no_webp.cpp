// Instead of webp.cpp, where there is no libwebp.
#include "viz/headless/webp.h"

namespace tidemark::viz {

Result<std::unique_ptr<AnimatedWebp>> AnimatedWebp::create(std::uint32_t /*width*/,
                                                           std::uint32_t /*height*/) {
    return fail(ErrorCode::bad_option, "this build can't write animations", "--animate",
                "install libwebp-dev and build Tidemark again; --png writes a still picture");
}

}  // namespace tidemark::viz
