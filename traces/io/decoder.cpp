// xz by liblzma, zstd by libzstd, gzip by zlib; each with any number of streams in a row.
#include "traces/io/decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "core/base/caught.h"
#include "core/base/check.h"

namespace tidemark {
namespace {

constexpr const char* kDamaged = "the compressed data are damaged";
constexpr const char* kTooMuchMemory =
    "the compressed stream needs more than 512 MiB of memory to be unpacked";

class XzDecoder final : public Decoder {
  public:
    XzDecoder() {
        check_memory(lzma_stream_decoder(&stream_, kDecoderMemory, LZMA_CONCATENATED) == LZMA_OK);
    }

    ~XzDecoder() override { lzma_end(&stream_); }

    Result<Step> decode(std::span<const std::byte> source, std::span<std::byte> target,
                        bool at_end) override {
        if (whole_)
            return Step{};
        stream_.next_in = reinterpret_cast<const std::uint8_t*>(source.data());
        stream_.avail_in = source.size();
        stream_.next_out = reinterpret_cast<std::uint8_t*>(target.data());
        stream_.avail_out = target.size();
        const lzma_ret status = lzma_code(&stream_, at_end ? LZMA_FINISH : LZMA_RUN);
        const Step step{source.size() - stream_.avail_in, target.size() - stream_.avail_out};
        switch (status) {
            case LZMA_OK:
            case LZMA_BUF_ERROR:  // no progress was possible: the stream continues or is cut off
                return step;
            case LZMA_STREAM_END:
                whole_ = true;
                return step;
            case LZMA_MEMLIMIT_ERROR:
                return fail(ErrorCode::unsupported, kTooMuchMemory);
            case LZMA_MEM_ERROR:
                return fail(ErrorCode::unsupported, kNoMemory);
            case LZMA_OPTIONS_ERROR:
                return fail(ErrorCode::unsupported, "an .xz filter that liblzma does not know");
            default:
                return fail(ErrorCode::bad_input, kDamaged);
        }
    }

    bool whole() const override { return whole_; }

  private:
    lzma_stream stream_ = LZMA_STREAM_INIT;
    bool whole_ = false;
};

class ZstdDecoder final : public Decoder {
  public:
    ZstdDecoder() : context_(ZSTD_createDCtx()) {
        check_memory(context_ != nullptr);
        const int window_log = std::bit_width(kDecoderMemory) - 1;
        ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log);
    }

    ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }

    Result<Step> decode(std::span<const std::byte> source, std::span<std::byte> target,
                        bool /*at_end*/) override {
        ZSTD_inBuffer in{source.data(), source.size(), 0};
        ZSTD_outBuffer out{target.data(), target.size(), 0};
        if (whole_ && source.empty())
            return Step{};
        const std::size_t status = ZSTD_decompressStream(context_, &out, &in);
        if (ZSTD_isError(status) != 0) {
            if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge)
                return fail(ErrorCode::unsupported, kTooMuchMemory);
            if (ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation)
                return fail(ErrorCode::unsupported, kNoMemory);
            return fail(ErrorCode::bad_input, kDamaged);
        }
        whole_ = status == 0;
        return Step{in.pos, out.pos};
    }

    bool whole() const override { return whole_; }

  private:
    ZSTD_DCtx* context_;
    bool whole_ = false;
};

class GzipDecoder final : public Decoder {
  public:
    GzipDecoder() {
        constexpr int kGzipOnly = 16;
        check_memory(inflateInit2(&stream_, MAX_WBITS + kGzipOnly) == Z_OK);
    }

    ~GzipDecoder() override { inflateEnd(&stream_); }

    Result<Step> decode(std::span<const std::byte> source, std::span<std::byte> target,
                        bool /*at_end*/) override {
        if (whole_) {
            // Between members: zeros are the padding of tapes and block devices.
            const auto next =
                std::ranges::find_if(source, [](std::byte b) { return b != std::byte{0}; });
            const auto padding = static_cast<std::size_t>(next - source.begin());
            if (padding != 0 || source.empty())
                return Step{padding, 0};
            TM_CHECK(inflateReset(&stream_) == Z_OK);
            whole_ = false;
        }
        constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
        const std::size_t in = std::min(source.size(), kMost);
        const std::size_t out = std::min(target.size(), kMost);
        // zlib takes a non-const pointer for historical reasons and does not write through it.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(source.data()));
        stream_.avail_in = static_cast<uInt>(in);
        stream_.next_out = reinterpret_cast<Bytef*>(target.data());
        stream_.avail_out = static_cast<uInt>(out);
        const int status = inflate(&stream_, Z_NO_FLUSH);
        if (status == Z_MEM_ERROR)
            return fail(ErrorCode::unsupported, kNoMemory);
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return fail(ErrorCode::bad_input, kDamaged);
        whole_ = status == Z_STREAM_END;
        return Step{in - stream_.avail_in, out - stream_.avail_out};
    }

    bool whole() const override { return whole_; }

  private:
    z_stream stream_{};
    bool whole_ = false;
};

bool begins_with(std::span<const std::byte> head, std::string_view magic) {
    return head.size() >= magic.size() &&
           std::equal(magic.begin(), magic.end(), head.begin(), [](char expected, std::byte found) {
               return static_cast<std::byte>(expected) == found;
           });
}

}  // namespace

namespace {

// The first member of a zip archive is an uncompressed "NAME/data.pkl" (PKWARE's APPNOTE, 4.3.7).
bool holds_plain_pickle(std::span<const std::byte> head) {
    constexpr std::size_t kHeader = 30;
    const auto number = [head](std::size_t at) {
        return std::to_integer<std::size_t>(head[at]) | std::to_integer<std::size_t>(head[at + 1])
                                                            << 8U;
    };
    if (head.size() < kHeader || number(8) != 0 || head.size() < kHeader + number(26))
        return false;
    const std::string_view name(reinterpret_cast<const char*>(head.data()) + kHeader, number(26));
    return name.ends_with("/data.pkl");
}

}  // namespace

Compression compression_of(std::span<const std::byte> head) {
    struct Magic {
        std::string_view bytes;
        Compression compression;
    };

    using namespace std::string_view_literals;
    constexpr std::array kMagics{
        Magic{"\xfd"
              "7zXZ\0"sv,
              Compression::xz},
        Magic{"\x28\xb5\x2f\xfd"sv, Compression::zstd},
        Magic{"\x1f\x8b\x08"sv, Compression::gzip},
        Magic{"\x04\x22\x4d\x18"sv, Compression::lz4},
    };
    if (begins_with(head, "PK\x03\x04"))  // torch.save stores the pickle in it uncompressed
        return holds_plain_pickle(head) ? Compression::none : Compression::zip;
    for (const Magic& magic : kMagics) {
        if (begins_with(head, magic.bytes))
            return magic.compression;
    }
    const bool is_bzip2 =
        head.size() > 4 && begins_with(head, "BZh") && begins_with(head.subspan(4), "1AY&SY");
    return is_bzip2 ? Compression::bzip2 : Compression::none;
}

Result<std::unique_ptr<Decoder>> make_decoder(Compression compression) {
    switch (compression) {
        case Compression::xz:
            return std::make_unique<XzDecoder>();
        case Compression::zstd:
            return std::make_unique<ZstdDecoder>();
        case Compression::gzip:
            return std::make_unique<GzipDecoder>();
        case Compression::bzip2:
            return fail(ErrorCode::unsupported, "is compressed by bzip2", {},
                        "unpack it with bunzip2");
        case Compression::lz4:
            return fail(ErrorCode::unsupported, "is compressed by lz4", {}, "unpack it with unlz4");
        case Compression::zip:
            return fail(ErrorCode::unsupported, "is a zip archive", {}, "unpack it with unzip");
        case Compression::none:
            break;
    }
    check_failed("a compression", __FILE__, __LINE__);
}

}  // namespace tidemark
