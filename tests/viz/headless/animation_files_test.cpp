// Animations as files, read again by their libraries: the same frames, each as long as it was
// said, in the same bytes each time.
#include <algorithm>
#include <cmath>
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
#ifdef TIDEMARK_FFMPEG
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}
#endif

#include "viz/headless/animated_file.h"
#include "viz/headless/palette.h"

namespace tidemark::viz {
namespace {

constexpr std::uint32_t kWide = 61;  // odd: films are padded
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

#ifdef TIDEMARK_FFMPEG
// Turns a decoded frame into colours, the padding left out.
std::vector<Colour> colours_of(const AVFrame& frame) {
    SwsContext* const colours = sws_getContext(
        frame.width, frame.height, static_cast<AVPixelFormat>(frame.format), frame.width,
        frame.height, AV_PIX_FMT_RGB0, SWS_BICUBIC, nullptr, nullptr, nullptr);
    const int* const table = sws_getCoefficients(SWS_CS_ITU709);
    sws_setColorspaceDetails(colours, table, 0, table, 1, 0, 1 << 16, 1 << 16);
    std::vector<Colour> all(static_cast<std::size_t>(frame.width * frame.height));
    auto* const pixels = reinterpret_cast<std::uint8_t*>(all.data());
    const int stride = 4 * frame.width;
    sws_scale(colours, frame.data, frame.linesize, 0, frame.height, &pixels, &stride);
    sws_freeContext(colours);
    std::vector<Colour> inside;
    for (std::uint32_t y = 0; y < kHigh; ++y)
        for (std::uint32_t x = 0; x < kWide; ++x)
            inside.push_back(all[std::size_t{y} * static_cast<std::size_t>(frame.width) + x]);
    return inside;
}

Played played_mp4(const std::string& path) {
    AVFormatContext* format = nullptr;
    REQUIRE(avformat_open_input(&format, path.c_str(), nullptr, nullptr) == 0);
    REQUIRE(format->nb_streams == 1);
    const AVStream& stream = *format->streams[0];
    const AVCodec* const codec = avcodec_find_decoder(stream.codecpar->codec_id);
    AVCodecContext* decoder = avcodec_alloc_context3(codec);
    REQUIRE(avcodec_parameters_to_context(decoder, stream.codecpar) == 0);
    REQUIRE(avcodec_open2(decoder, codec, nullptr) == 0);
    AVPacket* packet = av_packet_alloc();
    AVFrame* frame = av_frame_alloc();
    Played played;
    const auto receive = [&] {
        while (avcodec_receive_frame(decoder, frame) == 0)
            played.frames.push_back(colours_of(*frame));
    };
    while (av_read_frame(format, packet) == 0) {
        const AVRational unit = stream.time_base;
        played.milliseconds.push_back(static_cast<int>(
            std::lround(1000.0 * static_cast<double>(packet->duration) * unit.num / unit.den)));
        REQUIRE(avcodec_send_packet(decoder, packet) == 0);
        av_packet_unref(packet);
        receive();
    }
    REQUIRE(avcodec_send_packet(decoder, nullptr) == 0);
    receive();
    av_frame_free(&frame);
    av_packet_free(&packet);
    avcodec_free_context(&decoder);
    avformat_close_input(&format);
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

TEST_CASE("what an MP4 plays are the frames, but for what a film loses", "[viz][animation]") {
    if (!can_write(".mp4", "libavformat-dev"))
        return;
    const std::string path = temporary("tidemark-animation.mp4");
    std::vector<Bitmap> frames;
    for (std::size_t step = 0; step < 6; ++step)
        frames.push_back(frame(step, 4));
    write_frames(path, frames);
#ifdef TIDEMARK_FFMPEG
    const Played played = played_mp4(path);
    REQUIRE(played.frames.size() == 6);
    CHECK(played.milliseconds == std::vector<int>{80, 80, 80, 80, 80, 2500});
    for (std::size_t i = 0; i < 6; ++i) {
        const double psnr =
            10 * std::log10(255.0 * 255.0 / mean_error(played.frames[i], frames[i].pixels));
        CHECK(psnr > 30);
        // It has moved: the frame before is farther away.
        if (i > 0)
            CHECK(mean_error(played.frames[i], frames[i].pixels) <
                  mean_error(played.frames[i], frames[i - 1].pixels));
    }
#endif
    std::filesystem::remove(path);
}

}  // namespace tidemark::viz
