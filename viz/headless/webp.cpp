// WebP, lossless, through libwebp's encoder of animations, which stores what changes from image to
// image. At most 16383 pixels in either direction.
#include <span>

#include <fmt/format.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include "core/base/check.h"
#include "traces/io/output_file.h"
#include "viz/headless/animated_file.h"

namespace tidemark::viz {
namespace {

constexpr int kEffort = 2;  // of lossless compression, 0 to 9: more takes much longer for little

struct ImageDeleter {
    void operator()(WebPPicture* image) const {
        WebPPictureFree(image);
        delete image;
    }
};

struct EncoderDeleter {
    void operator()(WebPAnimEncoder* encoder) const { WebPAnimEncoderDelete(encoder); }
};

class LibwebpFile final : public AnimatedFile {
  public:
    LibwebpFile(std::uint32_t width, std::uint32_t height)
        : width_(static_cast<int>(width)), height_(static_cast<int>(height)) {
        WebPAnimEncoderOptions options;
        TM_CHECK(WebPAnimEncoderOptionsInit(&options) != 0);
        encoder_.reset(WebPAnimEncoderNew(width_, height_, &options));
        TM_CHECK(WebPConfigInit(&config_) != 0);
        TM_CHECK(WebPConfigLosslessPreset(&config_, kEffort) != 0);
    }

    bool is_ready() const { return encoder_ != nullptr; }

    Result<void> add(const Bitmap& bitmap, int milliseconds) override {
        TM_CHECK(static_cast<int>(bitmap.width) == width_);
        TM_CHECK(static_cast<int>(bitmap.height) == height_);
        const std::unique_ptr<WebPPicture, ImageDeleter> image(new WebPPicture);
        TM_CHECK(WebPPictureInit(image.get()) != 0);
        image->use_argb = 1;
        image->width = width_;
        image->height = height_;
        // Red, green, blue and what isn't looked at, byte by byte.
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(bitmap.pixels.data());
        if (WebPPictureImportRGBX(image.get(), bytes, 4 * width_) == 0 ||
            WebPAnimEncoderAdd(encoder_.get(), image.get(), time_, &config_) == 0)
            return failed();
        time_ += milliseconds;
        return {};
    }

    Result<void> write(const OutputTarget& target) override {
        WebPData data;
        WebPDataInit(&data);
        const std::unique_ptr<WebPData, void (*)(WebPData*)> kept(&data, WebPDataClear);
        if (WebPAnimEncoderAdd(encoder_.get(), nullptr, time_, nullptr) == 0 ||
            WebPAnimEncoderAssemble(encoder_.get(), &data) == 0)
            return failed();
        TM_ASSIGN(const auto file, OutputFile::create(target));
        TM_TRY(file->write(std::as_bytes(std::span(data.bytes, data.size))));
        return file->commit();
    }

  private:
    tl::unexpected<Error> failed() const {
        return fail(ErrorCode::io,
                    fmt::format("libwebp: {}", WebPAnimEncoderGetError(encoder_.get())));
    }

    int width_;
    int height_;
    int time_ = 0;  // milliseconds, of the next image
    WebPConfig config_{};
    std::unique_ptr<WebPAnimEncoder, EncoderDeleter> encoder_;
};

}  // namespace

Result<std::unique_ptr<AnimatedFile>> create_webp(std::uint32_t width, std::uint32_t height);

Result<std::unique_ptr<AnimatedFile>> create_webp(std::uint32_t width, std::uint32_t height) {
    auto file = std::make_unique<LibwebpFile>(width, height);
    if (!file->is_ready())
        return fail(ErrorCode::bad_option,
                    fmt::format("libwebp can't animate {} x {} pixels", width, height), "--size");
    return file;
}

}  // namespace tidemark::viz
