// MP4, through FFmpeg's libraries: H.264 by x264 where FFmpeg has it, else MPEG-4. In memory, so
// that the file appears whole, and its name is a name and nothing that FFmpeg would interpret. One
// thread: the same bytes each time.
#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "traces/io/output_file.h"
#include "viz/headless/animated_file.h"
#include "viz/headless/ffmpeg.h"

namespace tidemark::viz {
namespace {

constexpr int kMilliseconds = 1000;  // the unit of time, of a second
constexpr int kIoBuffer = 1 << 16;
constexpr int kKeyEvery = 250;  // pictures
constexpr int kOne = 1 << 16;   // of swscale's fixed point
constexpr std::uint32_t kMostMp4 = 8192;

#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WrittenBytes = const std::uint8_t*;
#else
using WrittenBytes = std::uint8_t*;
#endif

// A file in memory that can be gone back in.
struct MemoryFile {
    std::string bytes;
    std::size_t at = 0;

    static int write(void* self, WrittenBytes bytes, int count) {
        auto& file = *static_cast<MemoryFile*>(self);
        const auto size = static_cast<std::size_t>(count);
        file.bytes.resize(std::max(file.bytes.size(), file.at + size));
        std::memcpy(file.bytes.data() + file.at, bytes, size);
        file.at += size;
        return count;
    }

    static std::int64_t seek(void* self, std::int64_t offset, int whence) {
        auto& file = *static_cast<MemoryFile*>(self);
        const auto size = static_cast<std::int64_t>(file.bytes.size());
        if ((whence & AVSEEK_SIZE) != 0)
            return size;
        const std::int64_t from = whence == SEEK_CUR   ? static_cast<std::int64_t>(file.at)
                                  : whence == SEEK_END ? size
                                                       : 0;
        if (from + offset < 0)
            return AVERROR(EINVAL);
        file.at = static_cast<std::size_t>(from + offset);
        return from + offset;
    }
};

class FfmpegFile final : public AnimatedFile {
  public:
    // Both edges even: colours are stored for four pixels at once.
    FfmpegFile(const Ffmpeg& calls, std::uint32_t width, std::uint32_t height)
        : av_(calls),
          width_(static_cast<int>(width + width % 2)),
          height_(static_cast<int>(height + height % 2)) {}

    ~FfmpegFile() override {
        av_.av_packet_free(&packet_);
        av_.av_frame_free(&frame_);
        av_.sws_freeContext(colours_);
        av_.avcodec_free_context(&encoder_);
        if (format_ != nullptr)
            av_.avformat_free_context(format_);
        if (io_ != nullptr)
            av_.av_freep(&io_->buffer);
        av_.avio_context_free(&io_);
    }

    Result<void> begin() {
        TM_TRY(open_encoder());
        TM_TRY(open_format());
        frame_ = av_.av_frame_alloc();
        packet_ = av_.av_packet_alloc();
        colours_ = av_.sws_getContext(
            width_, height_, AV_PIX_FMT_RGB0, width_, height_, AV_PIX_FMT_YUV420P,
            SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT, nullptr, nullptr, nullptr);
        if (frame_ == nullptr || packet_ == nullptr || colours_ == nullptr)
            return failed(AVERROR(ENOMEM));
        const int* const table = av_.sws_getCoefficients(SWS_CS_ITU709);
        av_.sws_setColorspaceDetails(colours_, table, 1, table, 0, 0, kOne, kOne);
        frame_->format = AV_PIX_FMT_YUV420P;
        frame_->width = width_;
        frame_->height = height_;
        return check(av_.av_frame_get_buffer(frame_, 0));
    }

    Result<void> add(const Bitmap& bitmap, int milliseconds) override {
        const std::vector<Colour> padded = pad(bitmap);
        const auto* const pixels = reinterpret_cast<const std::uint8_t*>(padded.data());
        const int stride = 4 * width_;
        TM_TRY(check(av_.av_frame_make_writable(frame_)));
        av_.sws_scale(colours_, &pixels, &stride, 0, height_, frame_->data, frame_->linesize);
        frame_->pts = time_;
        time_ += milliseconds;
        durations_.push_back(milliseconds);
        TM_TRY(check(av_.avcodec_send_frame(encoder_, frame_)));
        return put_packets();
    }

    Result<void> write(const OutputTarget& target) override {
        TM_TRY(check(av_.avcodec_send_frame(encoder_, nullptr)));
        TM_TRY(put_packets());
        TM_TRY(check(av_.av_write_trailer(format_)));
        TM_ASSIGN(const auto file, OutputFile::create(target));
        TM_TRY(file->write(std::string_view(memory_.bytes)));
        return file->commit();
    }

  private:
    Result<void> open_encoder() {
        const AVCodec* codec = av_.avcodec_find_encoder_by_name("libx264");
        const bool is_x264 = codec != nullptr;
        if (!is_x264)
            codec = av_.avcodec_find_encoder(AV_CODEC_ID_MPEG4);
        if (codec == nullptr)
            return fail(ErrorCode::unsupported, "this FFmpeg has neither x264 nor MPEG-4",
                        "--animate", "name it OUT.webp or OUT.gif");
        encoder_ = av_.avcodec_alloc_context3(codec);
        if (encoder_ == nullptr)
            return failed(AVERROR(ENOMEM));
        encoder_->width = width_;
        encoder_->height = height_;
        encoder_->pix_fmt = AV_PIX_FMT_YUV420P;
        encoder_->time_base = {1, kMilliseconds};
        encoder_->gop_size = kKeyEvery;
        encoder_->max_b_frames = 0;
        encoder_->thread_count = 1;
        encoder_->color_range = AVCOL_RANGE_MPEG;
        encoder_->colorspace = AVCOL_SPC_BT709;
        encoder_->color_primaries = AVCOL_PRI_BT709;
        encoder_->color_trc = AVCOL_TRC_BT709;
        encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
        AVDictionary* options = nullptr;
        if (is_x264) {
            av_.av_dict_set(&options, "preset", "veryfast", 0);
            av_.av_dict_set(&options, "tune", "animation", 0);
            av_.av_dict_set(&options, "crf", "16", 0);
        } else {
            encoder_->flags |= AV_CODEC_FLAG_QSCALE;
            encoder_->global_quality = 2 * FF_QP2LAMBDA;
        }
        const int result = av_.avcodec_open2(encoder_, codec, &options);
        av_.av_dict_free(&options);
        return check(result);
    }

    Result<void> open_format() {
        TM_TRY(check(av_.avformat_alloc_output_context2(&format_, nullptr, "mp4", nullptr)));
        auto* const buffer = static_cast<std::uint8_t*>(av_.av_malloc(kIoBuffer));
        if (buffer == nullptr)
            return failed(AVERROR(ENOMEM));
        io_ = av_.avio_alloc_context(buffer, kIoBuffer, 1, &memory_, nullptr, MemoryFile::write,
                                     MemoryFile::seek);
        if (io_ == nullptr)
            return failed(AVERROR(ENOMEM));
        format_->pb = io_;
        format_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
        stream_ = av_.avformat_new_stream(format_, nullptr);
        if (stream_ == nullptr)
            return failed(AVERROR(ENOMEM));
        stream_->time_base = encoder_->time_base;
        TM_TRY(check(av_.avcodec_parameters_from_context(stream_->codecpar, encoder_)));
        return check(av_.avformat_write_header(format_, nullptr));
    }

    // Made even by its last row and column once more.
    std::vector<Colour> pad(const Bitmap& bitmap) const {
        TM_CHECK(static_cast<int>(bitmap.width + bitmap.width % 2) == width_);
        TM_CHECK(static_cast<int>(bitmap.height + bitmap.height % 2) == height_);
        std::vector<Colour> padded;
        padded.reserve(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_));
        for (int y = 0; y < height_; ++y) {
            const auto row = std::min(static_cast<std::uint32_t>(y), bitmap.height - 1);
            const auto from =
                bitmap.pixels.begin() + static_cast<std::ptrdiff_t>(row) * bitmap.width;
            padded.insert(padded.end(), from, from + bitmap.width);
            if (bitmap.width % 2 != 0)
                padded.push_back(padded.back());
        }
        return padded;
    }

    Result<void> put_packets() {
        for (;;) {
            const int result = av_.avcodec_receive_packet(encoder_, packet_);
            if (result == AVERROR(EAGAIN) || result == AVERROR_EOF)
                return {};
            TM_TRY(check(result));
            TM_CHECK(!durations_.empty());
            packet_->duration = durations_.front();  // they come in order
            durations_.pop_front();
            packet_->stream_index = stream_->index;
            av_.av_packet_rescale_ts(packet_, encoder_->time_base, stream_->time_base);
            TM_TRY(check(av_.av_write_frame(format_, packet_)));
        }
    }

    Result<void> check(int result) const {
        if (result < 0)
            return failed(result);
        return {};
    }

    tl::unexpected<Error> failed(int result) const {
        char why[AV_ERROR_MAX_STRING_SIZE] = {};
        av_.av_strerror(result, why, sizeof why);
        return fail(ErrorCode::io, fmt::format("FFmpeg: {}", why));
    }

    const Ffmpeg& av_;
    int width_;
    int height_;
    std::int64_t time_ = 0;  // of the next picture
    std::deque<int> durations_;
    MemoryFile memory_;
    AVIOContext* io_ = nullptr;
    AVFormatContext* format_ = nullptr;
    AVStream* stream_ = nullptr;
    AVCodecContext* encoder_ = nullptr;
    SwsContext* colours_ = nullptr;
    AVFrame* frame_ = nullptr;
    AVPacket* packet_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<AnimatedFile>> create_mp4(std::uint32_t width, std::uint32_t height);

Result<std::unique_ptr<AnimatedFile>> create_mp4(std::uint32_t width, std::uint32_t height) {
    if (width > kMostMp4 || height > kMostMp4)
        return fail(ErrorCode::bad_option,
                    fmt::format("an MP4 has no {} x {} pixels", width, height), "--size",
                    fmt::format("at most {0} x {0}", kMostMp4));
    TM_ASSIGN(const Ffmpeg* const calls, Ffmpeg::load());
    auto file = std::make_unique<FfmpegFile>(*calls, width, height);
    TM_TRY(file->begin());
    return file;
}

}  // namespace tidemark::viz
