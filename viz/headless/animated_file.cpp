// The catalogue of formats.
#include "viz/headless/animated_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tidemark::viz {

#define TIDEMARK_ANIMATION(name, package) \
    Result<std::unique_ptr<AnimatedFile>> create_##name(std::uint32_t width, std::uint32_t height);
#include "viz/headless/animation_formats.inc"
#undef TIDEMARK_ANIMATION

std::span<const AnimationFormat> animation_formats() {
    static constexpr std::array kFormats = {
#define TIDEMARK_ANIMATION(name, package) AnimationFormat{"." #name, package, create_##name},
#include "viz/headless/animation_formats.inc"
#undef TIDEMARK_ANIMATION
    };
    return kFormats;
}

const AnimationFormat* animation_format_of(std::string_view path) {
    const auto formats = animation_formats();
    const auto found = std::ranges::find_if(
        formats, [path](const AnimationFormat& format) { return path.ends_with(format.ending); });
    return found == formats.end() ? nullptr : &*found;
}

tl::unexpected<Error> no_animation_format(std::string_view ending) {
    const AnimationFormat& format = *animation_format_of(ending);
    return fail(ErrorCode::unsupported, fmt::format("this build writes no {} files", ending),
                "--animate", fmt::format("install {} and rebuild Tidemark", format.package));
}

}  // namespace tidemark::viz
