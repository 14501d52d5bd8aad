// GIF, through giflib: each picture as the changes since the last one, in a palette of its own of
// 255 colours; the 256th is transparent, for unchanged pixels inside. It plays in a loop.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <gif_lib.h>

#include "core/base/check.h"
#include "traces/io/output_file.h"
#include "viz/headless/animated_file.h"
#include "viz/headless/palette.h"

namespace tidemark::viz {
namespace {

constexpr std::uint32_t kMostGif = 65535;  // pixels of an edge, and hundredths of a picture
constexpr std::size_t kMostColours = 255;  // and one that is clear
constexpr int kGifTick = 10;               // milliseconds

struct MapDeleter {
    void operator()(ColorMapObject* map) const { GifFreeMapObject(map); }
};

// A part of a picture, waiting for how long it stays.
struct GifPart {
    int left = 0;
    int top = 0;
    int width = 0;
    int height = 0;
    std::vector<Colour> colours;
    std::vector<GifByteType> indexes;  // colours.size(): clear
    int milliseconds = 0;
};

class GiflibFile final : public AnimatedFile {
  public:
    GiflibFile(std::uint32_t width, std::uint32_t height)
        : width_(static_cast<int>(width)), height_(static_cast<int>(height)) {
        file_ = EGifOpen(this, append, &error_);
    }

    ~GiflibFile() override {
        if (file_ != nullptr)
            EGifCloseFile(std::exchange(file_, nullptr), nullptr);
    }

    Result<void> begin() {
        if (file_ == nullptr)
            return failed();
        EGifSetGifVersion(file_, true);
        constexpr std::array<GifByteType, 3> kForever{1, 0, 0};
        constexpr std::string_view kLoop = "NETSCAPE2.0";
        const bool begun =
            EGifPutScreenDesc(file_, width_, height_, 8, 0, nullptr) == GIF_OK &&
            EGifPutExtensionLeader(file_, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
            EGifPutExtensionBlock(file_, kLoop.size(), kLoop.data()) == GIF_OK &&
            EGifPutExtensionBlock(file_, kForever.size(), kForever.data()) == GIF_OK &&
            EGifPutExtensionTrailer(file_) == GIF_OK;
        return begun ? Result<void>() : failed();
    }

    Result<void> add(const Bitmap& bitmap, int milliseconds) override {
        TM_CHECK(static_cast<int>(bitmap.width) == width_);
        TM_CHECK(static_cast<int>(bitmap.height) == height_);
        GifPart part = changed(bitmap);
        if (part.width == 0) {
            waiting_->milliseconds += milliseconds;
            return {};
        }
        TM_TRY(put_waiting());
        part.milliseconds = milliseconds;
        waiting_ = std::move(part);
        last_ = bitmap.pixels;
        return {};
    }

    Result<void> write(const OutputTarget& target) override {
        TM_TRY(put_waiting());
        if (EGifCloseFile(std::exchange(file_, nullptr), &error_) != GIF_OK)
            return failed();
        TM_ASSIGN(const auto file, OutputFile::create(target));
        TM_TRY(file->write(std::string_view(bytes_)));
        return file->commit();
    }

  private:
    static int append(GifFileType* file, const GifByteType* bytes, int count) {
        auto& self = *static_cast<GiflibFile*>(file->UserData);
        self.bytes_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
        return count;
    }

    bool is_same(const Bitmap& bitmap, int x, int y) const {
        const auto at = static_cast<std::size_t>(y) * bitmap.width + static_cast<std::size_t>(x);
        return !last_.empty() && last_[at] == bitmap.pixels[at];
    }

    // The smallest rectangle around the changes; nothing if nothing has changed.
    GifPart changed(const Bitmap& bitmap) const {
        GifPart part;
        int right = 0;
        int bottom = 0;
        part.left = width_;
        part.top = height_;
        std::vector<Colour> pixels;
        for (int y = 0; y < height_; ++y)
            for (int x = 0; x < width_; ++x) {
                if (is_same(bitmap, x, y))
                    continue;
                part.left = std::min(part.left, x);
                part.top = std::min(part.top, y);
                right = std::max(right, x + 1);
                bottom = y + 1;
                pixels.push_back(bitmap.pixels[static_cast<std::size_t>(y) * bitmap.width +
                                               static_cast<std::size_t>(x)]);
            }
        part.width = std::max(right - part.left, 0);
        part.height = std::max(bottom - part.top, 0);
        const Palette palette(pixels, kMostColours);
        part.colours = palette.colours();
        std::size_t next = 0;
        for (int y = part.top; y < bottom; ++y)
            for (int x = part.left; x < right; ++x)
                part.indexes.push_back(is_same(bitmap, x, y)
                                           ? static_cast<GifByteType>(part.colours.size())
                                           : palette.index_of(pixels[next++]));
        return part;
    }

    Result<void> put_waiting() {
        if (!waiting_)
            return {};
        GifPart part = std::move(*waiting_);
        waiting_.reset();
        std::size_t size = 2;  // a power of two
        while (size < part.colours.size() + 1)
            size *= 2;
        std::vector<GifColorType> colours(size);
        for (std::size_t i = 0; i < part.colours.size(); ++i)
            colours[i] = {static_cast<GifByteType>(part.colours[i]),
                          static_cast<GifByteType>(part.colours[i] >> 8),
                          static_cast<GifByteType>(part.colours[i] >> 16)};
        const std::unique_ptr<ColorMapObject, MapDeleter> map(
            GifMakeMapObject(static_cast<int>(size), colours.data()));
        GraphicsControlBlock control{};
        control.DisposalMode = DISPOSE_DO_NOT;
        control.DelayTime = std::clamp((part.milliseconds + kGifTick / 2) / kGifTick, 1,
                                       static_cast<int>(kMostGif));
        control.TransparentColor = static_cast<int>(part.colours.size());
        std::array<GifByteType, 4> extension{};
        EGifGCBToExtension(&control, extension.data());
        if (map == nullptr ||
            EGifPutExtension(file_, GRAPHICS_EXT_FUNC_CODE, extension.size(), extension.data()) !=
                GIF_OK ||
            EGifPutImageDesc(file_, part.left, part.top, part.width, part.height, false,
                             map.get()) != GIF_OK ||
            EGifPutLine(file_, part.indexes.data(), static_cast<int>(part.indexes.size())) !=
                GIF_OK)
            return failed();
        return {};
    }

    tl::unexpected<Error> failed() const {
        const char* const why = GifErrorString(file_ == nullptr ? error_ : file_->Error);
        return fail(ErrorCode::io, fmt::format("giflib: {}", why == nullptr ? "no memory" : why));
    }

    int width_;
    int height_;
    int error_ = 0;
    GifFileType* file_ = nullptr;
    std::string bytes_;
    std::vector<Colour> last_;
    std::optional<GifPart> waiting_;
};

}  // namespace

Result<std::unique_ptr<AnimatedFile>> create_gif(std::uint32_t width, std::uint32_t height);

Result<std::unique_ptr<AnimatedFile>> create_gif(std::uint32_t width, std::uint32_t height) {
    if (width > kMostGif || height > kMostGif)
        return fail(ErrorCode::bad_option,
                    fmt::format("a GIF can't have {} x {} pixels", width, height), "--size",
                    fmt::format("at most {0} x {0}", kMostGif));
    auto file = std::make_unique<GiflibFile>(width, height);
    TM_TRY(file->begin());
    return file;
}

}  // namespace tidemark::viz
