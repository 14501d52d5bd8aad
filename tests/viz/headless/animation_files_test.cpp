// Animations as files, read again by their libraries: the same frames, each as long as it was
// said, in the same bytes each time.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#ifdef TIDEMARK_GIF
#include <gif_lib.h>
#endif

#include "viz/headless/animated_file.h"
#include "viz/headless/palette.h"

namespace tidemark::viz {
namespace {

constexpr std::uint32_t kWide = 61;
constexpr std::uint32_t kHigh = 40;

// A ground with so many colours in stripes, and a square that has moved on; nothing else changes.
Bitmap frame(std::size_t step, std::uint32_t colours) {
    Bitmap bitmap{kWide, kHigh, std::vector<Colour>(std::size_t{kWide} * kHigh), 0};
    for (std::uint32_t y = 0; y < kHigh; ++y)
        for (std::uint32_t x = 0; x < kWide; ++x) {
            const std::uint32_t i = (y * kWide + x) * colours / (kWide * kHigh);
            bitmap.pixels[std::size_t{y} * kWide + x] =
                rgb(i * 7 % 256 << 16 | i * 3 % 256 << 8 | i % 256);
        }
    for (std::size_t y = 10; y < 20; ++y)
        for (std::size_t x = 4 * step; x < 4 * step + 9; ++x)
            bitmap.pixels[y * kWide + x] = rgb(0xff8000);
    return bitmap;
}

struct Played {
    std::vector<std::vector<Colour>> frames;
    std::vector<int> milliseconds;
};

std::string temporary(const char* name) {
    return (std::filesystem::temp_directory_path() / name).string();
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Writes frames, the last one longer; twice, for the same bytes.
void write_frames(const std::string& path, const std::vector<Bitmap>& frames) {
    std::string once;
    for (int again = 0; again < 2; ++again) {
        const auto file = animation_format_of(path)->create(kWide, kHigh);
        REQUIRE(file);
        for (std::size_t i = 0; i < frames.size(); ++i)
            REQUIRE((*file)->add(frames[i], i + 1 == frames.size() ? 2500 : 80));
        REQUIRE((*file)->write({.path = path, .force = true}));
        if (again == 0)
            once = bytes_of(path);
    }
    CHECK(bytes_of(path) == once);
}

bool can_write(const char* ending, const char* package) {
    const auto file = animation_format_of(ending)->create(8, 8);
    if (file)
        return true;
    CHECK(file.error().code == ErrorCode::unsupported);
    WARN("skipped: no " << ending << "; " << file.error().hint << " " << package);
    return false;
}

std::uint64_t error_between(Colour a, Colour b) {
    std::uint64_t sum = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const auto apart = static_cast<std::int64_t>(a >> shift & 0xffU) -
                           static_cast<std::int64_t>(b >> shift & 0xffU);
        sum += static_cast<std::uint64_t>(apart * apart);
    }
    return sum;
}

double mean_error(const std::vector<Colour>& a, const std::vector<Colour>& b) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += error_between(a[i], b[i]);
    return static_cast<double>(sum) / static_cast<double>(3 * a.size());
}

#ifdef TIDEMARK_GIF
Played played_gif(const std::string& path) {
    int error = 0;
    GifFileType* const file = DGifOpenFileName(path.c_str(), &error);
    REQUIRE(file != nullptr);
    REQUIRE(DGifSlurp(file) == GIF_OK);
    CHECK(file->SWidth == static_cast<int>(kWide));
    Played played;
    std::vector<Colour> screen(std::size_t{kWide} * kHigh);
    for (int i = 0; i < file->ImageCount; ++i) {
        const SavedImage& image = file->SavedImages[i];
        GraphicsControlBlock control{};
        REQUIRE(DGifSavedExtensionToGCB(file, i, &control) == GIF_OK);
        const GifImageDesc& at = image.ImageDesc;
        for (int y = 0; y < at.Height; ++y)
            for (int x = 0; x < at.Width; ++x) {
                const int index = image.RasterBits[y * at.Width + x];
                if (index == control.TransparentColor)
                    continue;
                const GifColorType& colour = at.ColorMap->Colors[index];
                screen[static_cast<std::size_t>(at.Top + y) * kWide +
                       static_cast<std::size_t>(at.Left + x)] =
                    0xff000000U | Colour{colour.Blue} << 16 | Colour{colour.Green} << 8 |
                    colour.Red;
            }
        played.frames.push_back(screen);
        played.milliseconds.push_back(10 * control.DelayTime);
    }
    DGifCloseFile(file, &error);
    return played;
}
#endif

}  // namespace

TEST_CASE("a palette of enough colours is exact", "[viz][animation]") {
    const Bitmap bitmap = frame(0, 200);
    const Palette palette(bitmap.pixels, 255);
    for (const Colour colour : bitmap.pixels)
        CHECK(palette.colours()[palette.index_of(colour)] == colour);
}

TEST_CASE("a palette of too few colours errs less than one that knows no frame",
          "[viz][animation]") {
    std::mt19937 random(11);
    std::vector<Colour> pixels(5000, rgb(0x14181c));  // a ground, and what lies on it
    for (std::size_t i = 0; i < 4000; ++i)
        pixels.push_back(static_cast<Colour>(random()) | 0xff000000U);
    const Palette palette(pixels, 64);
    CHECK(palette.colours().size() == 64);
    CHECK(palette.colours()[palette.index_of(pixels.front())] == pixels.front());
    std::vector<Colour> chosen;
    std::vector<Colour> cut;  // to four levels of each part
    for (const Colour colour : pixels) {
        chosen.push_back(palette.colours()[palette.index_of(colour)]);
        cut.push_back((colour & 0xffc0c0c0U) | 0x202020U);
    }
    CHECK(mean_error(pixels, chosen) < mean_error(pixels, cut));
}

TEST_CASE("what a GIF plays are the frames, with exact colours where they are few",
          "[viz][animation]") {
    if (!can_write(".gif", "libgif-dev"))
        return;
    const std::string path = temporary("tidemark-animation.gif");
    const std::uint32_t colours = GENERATE(100U, 2000U);
    std::vector<Bitmap> frames;
    for (std::size_t step = 0; step < 6; ++step)
        frames.push_back(frame(step, colours));
    frames.insert(frames.begin() + 3, frames[2]);  // nothing changes: it stays longer
    write_frames(path, frames);
#ifdef TIDEMARK_GIF
    const Played played = played_gif(path);
    REQUIRE(played.frames.size() == 6);
    CHECK(played.milliseconds == std::vector<int>{80, 80, 160, 80, 80, 2500});
    for (std::size_t i = 0; i < 6; ++i) {
        const Bitmap& expected = frames[i < 3 ? i : i + 1];
        if (colours <= 100)
            CHECK(played.frames[i] == expected.pixels);
        CHECK(mean_error(played.frames[i], expected.pixels) < 40);
    }
#endif
    std::filesystem::remove(path);
}

TEST_CASE("a GIF stores what changes", "[viz][animation]") {
    if (!can_write(".gif", "libgif-dev"))
        return;
    const std::string path = temporary("tidemark-changes.gif");
    write_frames(path, {frame(0, 200)});
    const std::size_t alone = bytes_of(path).size();
    write_frames(path, {frame(0, 200), frame(1, 200)});
    CHECK(bytes_of(path).size() - alone < alone / 3);
    std::filesystem::remove(path);
}

}  // namespace tidemark::viz
