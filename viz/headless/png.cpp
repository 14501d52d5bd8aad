// Pictures to and from PNG, through libpng's simplified interface.
#include "viz/headless/png.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <png.h>

#include "replay/report/charts/png_mark.h"
#include "traces/io/output_file.h"

namespace tidemark::viz {
namespace {

// Releases what libpng holds for an image, however its use ends.
class Image {
  public:
    Image() { image_.version = PNG_IMAGE_VERSION; }

    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    ~Image() { png_image_free(&image_); }

    png_image* operator->() { return &image_; }

    png_image* get() { return &image_; }

  private:
    png_image image_{};
};

std::vector<std::uint8_t> without_alpha(const Bitmap& bitmap) {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(3 * bitmap.pixels.size());
    for (const Colour pixel : bitmap.pixels)
        for (const unsigned shift : {0U, 8U, 16U})
            bytes.push_back(static_cast<std::uint8_t>(pixel >> shift & 0xffU));
    return bytes;
}

bool is_too_large(std::uint32_t width, std::uint32_t height) {
    return width > kWidestBitmap || height > kWidestBitmap;
}

}  // namespace

Result<std::vector<std::byte>> encode_png(const Bitmap& bitmap) {
    const std::size_t count = std::size_t{bitmap.width} * bitmap.height;
    if (count == 0 || bitmap.pixels.size() < count || is_too_large(bitmap.width, bitmap.height))
        return fail(ErrorCode::bad_option,
                    fmt::format("a picture of {} x {} pixels cannot be a PNG", bitmap.width,
                                bitmap.height));
    const std::vector<std::uint8_t> bytes = without_alpha(bitmap);
    Image image;
    image->width = bitmap.width;
    image->height = bitmap.height;
    image->format = PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(*image.get());
    std::vector<std::byte> file(size);
    if (png_image_write_to_memory(image.get(), file.data(), &size, 0, bytes.data(), 0, nullptr) ==
        0)
        return fail(ErrorCode::io, fmt::format("libpng: {}", image->message));
    file.resize(size);
    const auto mark = std::as_bytes(std::span(report::kPngMark));
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(report::kBehindPngHeader), mark.begin(),
                mark.end());
    return file;
}

Result<void> write_png(const Bitmap& bitmap, const OutputTarget& target) {
    TM_ASSIGN(const std::vector<std::byte> bytes, encode_png(bitmap));
    TM_ASSIGN(const auto file, OutputFile::create(target));
    TM_TRY(file->write(bytes));
    return file->commit();
}

Result<Bitmap> read_png(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    if (!file)
        return fail(ErrorCode::io, fmt::format("cannot be read: {}", std::strerror(errno)), path);
    Image image;
    if (png_image_begin_read_from_stdio(image.get(), file.get()) == 0)
        return fail(ErrorCode::bad_input, fmt::format("is not a PNG: {}", image->message), path);
    if (is_too_large(image->width, image->height))
        return fail(ErrorCode::bad_input,
                    fmt::format("has {} x {} pixels; at most {} in either direction are read",
                                image->width, image->height, kWidestBitmap),
                    path);
    image->format = PNG_FORMAT_RGBA;
    Bitmap bitmap;
    bitmap.width = image->width;
    bitmap.height = image->height;
    bitmap.pixels.resize(std::size_t{bitmap.width} * bitmap.height);
    if (png_image_finish_read(image.get(), nullptr, bitmap.pixels.data(), 0, nullptr) == 0)
        return fail(ErrorCode::bad_input, fmt::format("is damaged: {}", image->message), path);
    for (Colour& pixel : bitmap.pixels)
        pixel |= 0xff000000U;
    bitmap.revision = next_bitmap_revision();
    return bitmap;
}

}  // namespace tidemark::viz
