// Animations: a frame for each position of the cursor, the same each time, in a file that is a
// GIF.
#include "viz/headless/animation.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "tests/viz/headless/golden.h"
#include "tests/viz/shell/sample_session.h"
#include "viz/headless/animated_file.h"
#include "viz/model/navigation/loader.h"

namespace tidemark::viz {
namespace {

AnimationOptions small(std::uint32_t frames) {
    AnimationOptions options;
    options.still.screen = {480, 320, 1, FontChoice::built_in};
    options.still.views = {"side-by-side"};
    options.frames = frames;
    return options;
}

struct Frames {
    std::vector<Bitmap> bitmaps;
    std::vector<int> milliseconds;
};

Frames drawn(Session& session, const AnimationOptions& options) {
    Frames frames;
    const Result<void> result =
        draw_animation(session, options, [&frames](const Bitmap& bitmap, int stays) {
            frames.bitmaps.push_back(bitmap);
            frames.milliseconds.push_back(stays);
            return Result<void>();
        });
    REQUIRE(result);
    return frames;
}

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("an animation has a frame for each step of the cursor, the same each time",
          "[viz][animation]") {
    SampleSession opened(2);
    const Frames once = drawn(opened.session, small(5));
    const Frames again = drawn(opened.session, small(5));
    REQUIRE(once.bitmaps.size() == 5);
    for (std::size_t i = 0; i < once.bitmaps.size(); ++i) {
        CHECK(once.bitmaps[i].pixels == again.bitmaps[i].pixels);
        if (i > 0)
            CHECK(once.bitmaps[i].pixels != once.bitmaps[i - 1].pixels);
    }
    CHECK(once.milliseconds == std::vector<int>{80, 80, 80, 80, 2500});
}

TEST_CASE("what comes after the moment that is played isn't drawn yet", "[viz][animation]") {
    Session session;
    Loader loader(session);
    LoadRequest request;
    request.files = {TIDEMARK_SOURCE_DIR "/traces/samples/torch/gpt2_var.pickle.xz"};
    request.policies = {"torch", "torch:expandable_segments=true"};
    request.keep = request.advises = false;
    loader.add(std::move(request));
    loader.wait();
    AnimationOptions options = small(5);
    options.still.screen = {1200, 750, 1, FontChoice::built_in};
    check_golden("side-by-side-played", drawn(session, options).bitmaps[3]);
}

TEST_CASE("an animation in a file is a GIF of the same bytes each time", "[viz][animation]") {
    SampleSession opened(2);
    const std::string path = std::filesystem::temp_directory_path() / "tidemark-animation.gif";
    if (const auto file = animation_format_of(path)->create(8, 8); !file) {
        CHECK(file.error().hint.find("libgif-dev") != std::string::npos);
        WARN("skipped: this build has no giflib");
        return;
    }
    REQUIRE(write_animation(opened.session, small(3), {.path = path, .force = true}));
    const std::string once = content_of(path);
    CHECK(once.starts_with("GIF89a"));
    REQUIRE(write_animation(opened.session, small(3), {.path = path, .force = true}));
    CHECK(content_of(path) == once);
    std::filesystem::remove(path);
}

TEST_CASE("other formats are refused with those that there are", "[viz][animation]") {
    SampleSession opened;
    for (const char* const path : {"gap.avi", "gif", "", "gap.gif.png", "gap.webp"}) {
        const Result<void> refused = write_animation(opened.session, small(3), {.path = path});
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == ErrorCode::bad_option);
        for (const AnimationFormat& format : animation_formats())
            CHECK(refused.error().hint.find(format.ending) != std::string::npos);
    }
}

TEST_CASE("an animation that can't be written is refused before it is drawn", "[viz][animation]") {
    for (const AnimationFormat& format : animation_formats()) {
        if (!format.create(8, 8))
            continue;
        const std::string name = std::string("gap") + std::string(format.ending);
        const Result<void> refused = check_animation_path("no/such/folder/" + name);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == ErrorCode::io);
        // A name is a name, not an address that a library would open.
        const Result<void> address = check_animation_path("http://127.0.0.1:1/" + name);
        REQUIRE_FALSE(address);
        CHECK(address.error().code == ErrorCode::io);
    }
}

}  // namespace tidemark::viz
